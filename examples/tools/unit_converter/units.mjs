/** Each unit by its names: how many of the base of its kind it is. Temperatures also have their own zero. */
const kinds = {
  length: {
    'm metre metres meter meters': 1,
    'mm millimetre millimetres millimeter millimeters': 0.001,
    'cm centimetre centimetres centimeter centimeters': 0.01,
    'km kilometre kilometres kilometer kilometers': 1000,
    'in inch inches "': 0.0254,
    "ft foot feet '": 0.3048,
    'yd yard yards': 0.9144,
    'mi mile miles': 1609.344,
    'nmi': 1852,
  },
  mass: {
    'kg kilogram kilograms kilo kilos': 1,
    'g gram grams': 0.001,
    'mg milligram milligrams': 1e-6,
    't tonne tonnes': 1000,
    'lb lbs pound pounds': 0.45359237,
    'oz ounce ounces': 0.028349523125,
    'st stone stones': 6.35029318,
  },
  volume: {
    'l litre litres liter liters': 1,
    'ml millilitre millilitres milliliter milliliters': 0.001,
    'cl centilitre centilitres': 0.01,
    'm3 m³': 1000,
    'tsp teaspoon teaspoons': 0.00492892159375,
    'tbsp tablespoon tablespoons': 0.01478676478125,
    'cup cups': 0.2365882365,
    'pt pint pints': 0.473176473,
    'gal gallon gallons': 3.785411784,
  },
  speed: { 'm/s': 1, 'km/h kmh kph': 1 / 3.6, 'mph mi/h': 0.44704, 'kn knot knots': 1852 / 3600 },
  temperature: {
    'k kelvin': { factor: 1, zero: 0 },
    'c °c celsius': { factor: 1, zero: 273.15 },
    'f °f fahrenheit': { factor: 5 / 9, zero: 459.67 * (5 / 9) },
  },
  time: {
    's sec second seconds': 1,
    'min minute minutes': 60,
    'h hour hours': 3600,
    'd day days': 86_400,
    'week weeks': 604_800,
    'year years': 31_557_600,
  },
  data: {
    'b byte bytes': 1,
    'kb kilobyte kilobytes': 1e3,
    'mb megabyte megabytes': 1e6,
    'gb gigabyte gigabytes': 1e9,
    'tb terabyte terabytes': 1e12,
    'kib kibibyte kibibytes': 1024,
    'mib mebibyte mebibytes': 1024 ** 2,
    'gib gibibyte gibibytes': 1024 ** 3,
  },
}

const units = new Map(
  Object.entries(kinds).flatMap(([kind, named]) =>
    Object.entries(named).flatMap(([names, size]) => {
      const unit = typeof size === 'number' ? { kind, factor: size, zero: 0 } : { kind, ...size }
      return names.split(' ').map((name) => [name, unit])
    }),
  ),
)

function findUnit(name) {
  const unit = units.get(name.trim().toLowerCase())
  if (unit) return unit
  throw new Error(`I do not know the unit ${JSON.stringify(name)}`)
}

export function convert(value, from, to) {
  const source = findUnit(from)
  const target = findUnit(to)
  if (source.kind !== target.kind) throw new Error(`${from} is a ${source.kind} and ${to} a ${target.kind}`)
  const base = value * source.factor + source.zero
  if (source.kind === 'temperature' && base < -1e-9) throw new Error('There is nothing colder than 0 K')
  return (base - target.zero) / target.factor
}

/** Six digits that matter, without zeros at the end. */
export function write(value) {
  const rounded = Number(value.toPrecision(6))
  return Math.abs(rounded) >= 1e15 ? String(rounded) : rounded.toLocaleString('en', { maximumFractionDigits: 12 })
}
