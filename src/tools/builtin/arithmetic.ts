import { Decimal as SharedDecimal } from 'decimal.js'
import Fraction from 'fraction.js'
import unitTable from './units.json' with { type: 'json' }

/** 40 digits, of which 15 are shown: rounding in between cannot be seen. */
const Decimal = SharedDecimal.clone({ precision: 40, maxE: 100_000, minE: -100_000 })
type Decimal = SharedDecimal
/** Exact as long as nothing irrational is involved. */
type Num = Fraction | Decimal

interface Unit {
  name: string
  dimension: string
  factor: Fraction
  /** Of a temperature: its zero, in kelvin. */
  offset: Fraction
}

interface Value {
  /** In the base unit of its dimension. */
  num: Num
  unit: Unit | null
  isPercent?: true
}

/** The expression cannot be computed; the message says why and where. */
export class BadExpression extends Error {}

const maxLength = 500
const maxDepth = 60
/** Of a numerator or denominator: 12,000 digits. */
const maxBits = 40_000
const maxFactorial = 3_000
const maxArguments = 100

const zero = new Fraction(0)
const offsets: Record<string, Fraction> = { '°C': new Fraction('273.15'), '°F': new Fraction('45967/180') }
const units = readUnits()
const longUnits = [...units.keys()].filter((name) => /[^\p{L}]/u.test(name)).sort((a, b) => b.length - a.length)
const ambiguous = new Set(['in', 'to', 'as', 'of', 'mod'])

function readUnits(): ReadonlyMap<string, Unit> {
  const known = new Map<string, Unit>()
  for (const [dimension, named] of Object.entries(unitTable)) {
    for (const [name, [factor = '1', ...others]] of Object.entries(named)) {
      const unit = { name, dimension, factor: new Fraction(factor), offset: offsets[name] ?? zero }
      for (const one of [name, ...others]) known.set(one, unit)
    }
  }
  return known
}

type Token = { kind: 'number' | 'word' | 'unit' | 'sign'; text: string; at: number }

const signs: Record<string, string> = {
  '×': '*',
  '·': '*',
  '÷': '/',
  '−': '-',
  '–': '-',
  '**': '^',
}
const numberForm = /(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![\w.]))?/y
const wordForm = /[\p{L}°µ][\p{L}\d²³]*/uy
const signForm = /\*\*|[-+*/^!%(),×·÷−–]/y
const blankForm = /\s+/y

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const take = (form: RegExp) => {
    form.lastIndex = at
    return form.exec(text)?.[0]
  }
  while (at < text.length) {
    const blank = take(blankForm)
    if (blank) {
      at += blank.length
      continue
    }
    const number = take(numberForm)
    // `km/h` and the like are one word, but only behind a number or a word that asks for a unit.
    const before = tokens.at(-1)
    const isBehind = before && (before.kind === 'number' || /^(?:in|to|as|\))$/.test(before.text))
    const long = isBehind
      ? longUnits.find((unit) => text.startsWith(unit, at) && !/[\p{L}\d]/u.test(text[at + unit.length] ?? ''))
      : undefined
    const found =
      (number && { kind: 'number' as const, text: number }) ??
      (long && { kind: 'unit' as const, text: long }) ??
      wordAt(take(wordForm)) ??
      signAt(take(signForm))
    if (!found) throw new BadExpression(`"${[...text.slice(at)][0]}" at character ${at + 1} is not understood`)
    tokens.push({ ...found, at })
    at += found.text.length
  }
  return tokens.map((token) => ({
    ...token,
    text: token.kind === 'sign' ? (signs[token.text] ?? token.text) : token.text,
  }))
}

const wordAt = (text: string | undefined) => (text ? { kind: 'word' as const, text } : undefined)
const signAt = (text: string | undefined) => (text ? { kind: 'sign' as const, text } : undefined)

/** The value of an arithmetic expression with units, as text. Throws a `BadExpression`. */
export function evaluate(expression: string): string {
  if (expression.length > maxLength) throw new BadExpression(`it is longer than ${maxLength} characters`)
  const parser = createParser(tokensOf(expression))
  return renderValue(parser.readAll())
}

/** Recursive descent, loosest first: conversion, sum, product, sign, power, postfix, primary. */
function createParser(tokens: readonly Token[]) {
  let next = 0
  let depth = 0
  const peek = () => tokens[next]
  const isNext = (...texts: string[]) => {
    const token = peek()
    return token !== undefined && token.kind !== 'number' && texts.includes(token.text)
  }
  const accept = (...texts: string[]) => (isNext(...texts) ? tokens[next++]?.text : undefined)
  const unexpected = () => {
    const token = peek()
    return new BadExpression(
      token ? `"${token.text}" at character ${token.at + 1} was not expected` : 'it ends too early',
    )
  }

  function nested<T>(read: () => T): T {
    depth += 1
    if (depth > maxDepth) throw new BadExpression('it is nested too deeply')
    const value = read()
    depth -= 1
    return value
  }

  function readAll(): Value {
    let value = readSum()
    while (accept('in', 'to', 'as')) value = convert(value, readUnit())
    if (next < tokens.length) throw unexpected()
    return value
  }

  function readUnit(): Unit {
    const token = peek()
    const unit = token && token.kind !== 'number' ? units.get(token.text) : undefined
    if (!unit) throw new BadExpression(token ? `"${token.text}" is not a known unit` : 'a unit is missing at the end')
    next += 1
    return unit
  }

  function readSum(): Value {
    let value = readProduct()
    for (let sign = accept('+', '-'); sign; sign = accept('+', '-')) {
      const right = readProduct()
      // As on every calculator: 200 + 10% is 220.
      const other = right.isPercent && !value.isPercent ? multiply(value, plain(right.num)) : right
      value = addValues(value, sign === '-' ? negate(other) : other)
    }
    return value
  }

  function readProduct(): Value {
    let value = readSigned()
    for (let sign = accept('*', '/', 'of', 'mod'); sign; sign = accept('*', '/', 'of', 'mod')) {
      const right = readSigned()
      if (sign === '/') value = divide(value, right)
      else value = sign === 'mod' ? modulo(value, right) : multiply(value, right)
    }
    return value
  }

  function readSigned(): Value {
    return nested(() => {
      if (accept('-')) return negate(readSigned())
      return accept('+') ? readSigned() : readPower()
    })
  }

  function readPower(): Value {
    const base = readPostfix()
    return accept('^') ? plain(power(numberOf(base), numberOf(readSigned()))) : base
  }

  function readPostfix(): Value {
    let value = readPrimary()
    for (;;) {
      if (accept('!')) value = plain(factorial(numberOf(value)))
      else if (accept('%')) value = { num: div(numberOf(value), new Fraction(100)), unit: null, isPercent: true }
      else return value
    }
  }

  function readPrimary(): Value {
    const token = peek()
    if (token?.kind === 'number') return readQuantity()
    if (accept('(')) {
      const value = nested(readSum)
      if (!accept(')')) throw new BadExpression('a ")" is missing')
      return unitAhead() ? withUnit(numberOf(value), readUnit()) : value
    }
    if (token?.kind !== 'word') throw unexpected()
    next += 1
    const constant = constants.get(token.text.toLowerCase())
    if (constant && !isNext('(')) return plain(constant())
    const compute = functions.get(token.text.toLowerCase())
    if (!compute || !accept('(')) throw new BadExpression(`"${token.text}" at character ${token.at + 1} is not known`)
    const given: Value[] = []
    while (!accept(')')) {
      if (given.length > 0 && !accept(',')) throw unexpected()
      given.push(nested(readSum))
      if (given.length > maxArguments) throw new BadExpression(`${token.text} takes at most ${maxArguments} numbers`)
    }
    return compute(given, token.text)
  }

  /** `5 ft 11 in` is a sum of lengths. */
  function readQuantity(): Value {
    let sum: Value | undefined
    for (;;) {
      const num = readNumber()
      if (!unitAhead()) {
        if (sum) throw new BadExpression('a unit is missing behind a number')
        return plain(num)
      }
      const one = withUnit(num, readUnit())
      sum = sum ? addValues(sum, one) : one
      if (peek()?.kind !== 'number') return sum
    }
  }

  function readNumber(): Num {
    const text = (tokens[next++] as Token).text.replaceAll('_', '')
    const [digits = '', exponent = '0'] = text.toLowerCase().split('e')
    if (Math.abs(Number(exponent)) > maxFactorial) throw new BadExpression(`${text} is too large`)
    return limited(new Fraction(digits).mul(new Fraction(10).pow(Number(exponent)) as Fraction))
  }

  /** Behind a number, `in` is the inch, unless a unit follows to convert to. */
  function unitAhead(): boolean {
    const token = peek()
    if (!token || token.kind === 'number' || !units.has(token.text)) return false
    if (!ambiguous.has(token.text)) return true
    return tokens[next - 1]?.kind === 'number'
  }

  return { readAll }
}

const plain = (num: Num): Value => ({ num, unit: null })

function withUnit(num: Num, unit: Unit): Value {
  return { num: add(mul(num, unit.factor), unit.offset), unit }
}

function numberOf({ num, unit }: Value): Num {
  if (unit) throw new BadExpression(`a plain number is needed, not a value in ${unit.name}`)
  return num
}

function convert(value: Value, unit: Unit): Value {
  if (!value.unit) return withUnit(value.num, unit)
  if (value.unit.dimension !== unit.dimension) {
    throw new BadExpression(`${value.unit.name} (${value.unit.dimension}) is not a ${unit.dimension} (${unit.name})`)
  }
  return { num: value.num, unit }
}

function addValues(a: Value, b: Value): Value {
  if ((a.unit?.dimension ?? null) !== (b.unit?.dimension ?? null)) {
    throw new BadExpression(
      `${a.unit?.name ?? 'a plain number'} and ${b.unit?.name ?? 'a plain number'} cannot be added`,
    )
  }
  if (a.unit?.dimension === 'temperature') throw new BadExpression('temperatures can be converted, not added')
  return { num: add(a.num, b.num), unit: a.unit, ...(a.isPercent && b.isPercent && { isPercent: true as const }) }
}

function negate({ num, ...rest }: Value): Value {
  if (rest.unit?.dimension === 'temperature') {
    const { factor, offset } = rest.unit
    return withUnit(mul(div(sub(num, offset), factor), new Fraction(-1)), rest.unit)
  }
  return { num: mul(num, new Fraction(-1)), ...rest }
}

function multiply(a: Value, b: Value): Value {
  if (a.unit && b.unit) throw new BadExpression(`${a.unit.name} times ${b.unit.name} is not supported`)
  refuseTemperature(a, b)
  return { num: mul(a.num, b.num), unit: a.unit ?? b.unit }
}

function divide(a: Value, b: Value): Value {
  refuseTemperature(a, b)
  if (b.unit && a.unit?.dimension !== b.unit.dimension) {
    throw new BadExpression(`${a.unit?.name ?? 'a plain number'} per ${b.unit.name} is not supported`)
  }
  return { num: div(a.num, b.num), unit: b.unit ? null : a.unit }
}

function modulo(a: Value, b: Value): Value {
  const [left, right] = [numberOf(a), numberOf(b)]
  return plain(sub(left, mul(right, floor(div(left, right)))))
}

function refuseTemperature(...values: Value[]): void {
  if (values.some(({ unit }) => unit?.dimension === 'temperature')) {
    throw new BadExpression('temperatures can be converted, not multiplied')
  }
}

const toDecimal = (num: Num): Decimal =>
  num instanceof Fraction ? new Decimal(`${num.s * num.n}`).div(new Decimal(`${num.d}`)) : num

function both(
  a: Num,
  b: Num,
  exact: (a: Fraction, b: Fraction) => Fraction,
  about: (a: Decimal, b: Decimal) => Decimal,
): Num {
  if (a instanceof Fraction && b instanceof Fraction) return limited(exact(a, b))
  return finite(about(toDecimal(a), toDecimal(b)))
}

const add = (a: Num, b: Num) =>
  both(
    a,
    b,
    (x, y) => x.add(y),
    (x, y) => x.add(y),
  )
const sub = (a: Num, b: Num) =>
  both(
    a,
    b,
    (x, y) => x.sub(y),
    (x, y) => x.sub(y),
  )
const mul = (a: Num, b: Num) =>
  both(
    a,
    b,
    (x, y) => x.mul(y),
    (x, y) => x.mul(y),
  )

function div(a: Num, b: Num): Num {
  if (isZero(b)) throw new BadExpression('division by zero')
  return both(
    a,
    b,
    (x, y) => x.div(y),
    (x, y) => x.div(y),
  )
}

const isZero = (num: Num) => (num instanceof Fraction ? num.n === 0n : num.isZero())
const isNegative = (num: Num) => (num instanceof Fraction ? num.s < 0n : num.isNegative() && !num.isZero())
const bitsOf = (value: bigint) => value.toString(16).length * 4

function limited(value: Fraction): Fraction {
  if (bitsOf(value.n) > maxBits || bitsOf(value.d) > maxBits) throw new BadExpression('the numbers become too large')
  return value
}

function finite(value: Decimal): Decimal {
  if (!value.isFinite()) throw new BadExpression('the result is not a number, or too large')
  return value
}

function power(base: Num, exponent: Num): Num {
  if (base instanceof Fraction && exponent instanceof Fraction && exponent.d === 1n) {
    if (isZero(base) && isNegative(exponent)) throw new BadExpression('division by zero')
    const bits = BigInt(Math.max(bitsOf(base.n), bitsOf(base.d)))
    const isTrivial = base.d === 1n && base.n <= 1n
    if (!isTrivial && exponent.n * (bits - 3n) > BigInt(maxBits)) throw new BadExpression('the power is too large')
    if (isTrivial)
      return base.n === 0n && exponent.n > 0n ? zero : new Fraction(base.s < 0n && exponent.n % 2n === 1n ? -1 : 1)
    return limited(base.pow(exponent) as Fraction)
  }
  if (base instanceof Fraction && exponent instanceof Fraction && exponent.n < 100n && exponent.d <= 10n) {
    const root = exactRoot(base, exponent.d)
    if (root) return power(root, new Fraction(exponent.s * exponent.n))
  }
  return finite(toDecimal(base).pow(toDecimal(exponent)))
}

/** Undefined if the root is irrational. */
function exactRoot(value: Fraction, degree: bigint): Fraction | undefined {
  if (value.s < 0n && degree % 2n === 0n) throw new BadExpression('an even root of a negative number is not real')
  const n = integerRoot(value.n, degree)
  const d = integerRoot(value.d, degree)
  return n ** degree === value.n && d ** degree === value.d ? new Fraction(value.s * n, d) : undefined
}

/** Rounded down, by bisection. */
function integerRoot(value: bigint, degree: bigint): bigint {
  let low = 0n
  let high = 1n << (BigInt(bitsOf(value)) / degree + 1n)
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    if (middle ** degree <= value) low = middle
    else high = middle - 1n
  }
  return low
}

function rootOf(value: Num, degree: bigint): Num {
  if (isNegative(value) && degree % 2n === 0n) throw new BadExpression('an even root of a negative number is not real')
  const exact = value instanceof Fraction ? exactRoot(value, degree) : undefined
  if (exact) return exact
  const about = toDecimal(value)
  if (degree === 2n) return finite(about.sqrt())
  if (degree === 3n) return finite(about.cbrt())
  const size = about.abs().pow(new Decimal(1).div(degree.toString()))
  return finite(isNegative(value) ? size.neg() : size)
}

function factorial(num: Num): Num {
  const count = integerOf(num, 'a factorial')
  if (count < 0n || count > BigInt(maxFactorial)) throw new BadExpression(`a factorial goes from 0 to ${maxFactorial}`)
  let product = 1n
  for (let factor = 2n; factor <= count; factor += 1n) product *= factor
  return new Fraction(product)
}

function integerOf(num: Num, what: string): bigint {
  if (!(num instanceof Fraction) || num.d !== 1n) throw new BadExpression(`${what} needs a whole number`)
  return num.s * num.n
}

const floor = (num: Num): Num => (num instanceof Fraction ? num.floor() : num.floor())

type Compute = (given: readonly Value[], name: string) => Value

function take(given: readonly Value[], name: string, least: number, most = least): Value[] {
  if (given.length < least || given.length > most) {
    const count = least === most ? String(least) : `${least} to ${most}`
    throw new BadExpression(`${name} takes ${count} ${most === 1 ? 'number' : 'numbers'}, not ${given.length}`)
  }
  return [...given]
}

/** Of one number, which may be an angle. */
function about(compute: (x: Decimal) => Decimal): Compute {
  return (given, name) => plain(finite(compute(toDecimal(numberOf(take(given, name, 1)[0] as Value)))))
}

/** Of one value; the result has its unit. */
function keeping(compute: (num: Num) => Num): Compute {
  return (given, name) => {
    const [value] = take(given, name, 1) as [Value]
    refuseTemperature(value)
    const factor = value.unit?.factor ?? new Fraction(1)
    return { num: mul(compute(div(value.num, factor)), factor), unit: value.unit }
  }
}

function roundTo(num: Num, digits: bigint): Num {
  if (digits < -1_000n || digits > 1_000n) throw new BadExpression('round takes up to 1000 digits')
  return num instanceof Fraction ? num.round(Number(digits)) : num.toDecimalPlaces(Math.max(0, Number(digits)))
}

function ordered(given: readonly Value[]): Value[] {
  return given.toSorted((a, b) => {
    const difference = addValues(a, negate(b))
    return isNegative(difference.num) ? -1 : isZero(difference.num) ? 0 : 1
  })
}

const total = (given: readonly Value[]) => given.reduce(addValues)
const whole = (given: readonly Value[], name: string) => given.map((value) => integerOf(numberOf(value), name))
const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b))

const constants = new Map<string, () => Num>(
  Object.entries({
    pi: () => Decimal.acos(-1),
    π: () => Decimal.acos(-1),
    e: () => Decimal.exp(1),
  }),
)

const functions = new Map<string, Compute>(
  Object.entries<Compute>({
    sqrt: (given, name) => plain(rootOf(numberOf(take(given, name, 1)[0] as Value), 2n)),
    cbrt: (given, name) => plain(rootOf(numberOf(take(given, name, 1)[0] as Value), 3n)),
    root(given, name) {
      const [value, degree] = take(given, name, 2) as [Value, Value]
      const count = integerOf(numberOf(degree), name)
      if (count < 1n || count > 100n) throw new BadExpression('root takes a degree from 1 to 100')
      return plain(rootOf(numberOf(value), count))
    },
    abs: (given, name) => {
      const [value] = take(given, name, 1) as [Value]
      return isNegative(value.num) ? negate(value) : value
    },
    round: (given, name) => {
      const [value, digits = plain(zero)] = take(given, name, 1, 2) as [Value, Value?]
      return keeping((num) => roundTo(num, integerOf(numberOf(digits), name)))([value], name)
    },
    floor: keeping(floor),
    ceil: keeping((num) => (num instanceof Fraction ? num.ceil() : num.ceil())),
    min: (given, name) => ordered(take(given, name, 1, maxArguments))[0] as Value,
    max: (given, name) => ordered(take(given, name, 1, maxArguments)).at(-1) as Value,
    sum: (given, name) => total(take(given, name, 1, maxArguments)),
    mean: (given, name) => divide(total(take(given, name, 1, maxArguments)), plain(new Fraction(given.length))),
    median(given, name) {
      const sorted = ordered(take(given, name, 1, maxArguments))
      const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
      return divide(total(middle), plain(new Fraction(middle.length)))
    },
    gcd: (given, name) => plain(new Fraction(whole(take(given, name, 1, maxArguments), name).reduce(gcd, 0n))),
    lcm(given, name) {
      const numbers = whole(take(given, name, 1, maxArguments), name)
      return plain(
        numbers.reduce<Num>((a, b) => {
          const size = BigInt((a as Fraction).n)
          return limited(b === 0n || size === 0n ? zero : new Fraction((size / gcd(size, b)) * (b < 0n ? -b : b)))
        }, new Fraction(1)),
      )
    },
    factorial: (given, name) => plain(factorial(numberOf(take(given, name, 1)[0] as Value))),
    exp: about((x) => x.exp()),
    ln: about((x) => x.ln()),
    log2: about((x) => x.log(2)),
    log10: about((x) => x.log(10)),
    log: (given, name) => {
      const [value, base = plain(new Fraction(10))] = take(given, name, 1, 2) as [Value, Value?]
      return plain(finite(toDecimal(numberOf(value)).log(toDecimal(numberOf(base)))))
    },
    sin: about((x) => x.sin()),
    cos: about((x) => x.cos()),
    tan: about((x) => x.tan()),
    asin: about((x) => x.asin()),
    acos: about((x) => x.acos()),
    atan: about((x) => x.atan()),
    rad: about((x) => x.mul(Decimal.acos(-1)).div(180)),
    deg: about((x) => x.mul(180).div(Decimal.acos(-1))),
  }),
)

const shownDigits = 15
const maxPlaces = 40
const maxShown = 400

function renderValue({ num, unit, isPercent }: Value): string {
  if (isPercent) return `${render(mul(num, new Fraction(100)))}%`
  if (!unit) return render(num)
  return `${render(div(sub(num, unit.offset), unit.factor), { withFraction: false })} ${unit.name}`
}

/** Exact if that is short; otherwise rounded, with the fraction if that is short. */
function render(num: Num, { withFraction = true } = {}): string {
  if (!(num instanceof Fraction)) return `≈ ${decimalText(num)}`
  const { s, n, d } = num
  const sign = s < 0n ? '-' : ''
  if (d === 1n) return sign + shortInteger(n.toString())
  const places = decimalPlaces(d)
  if (places !== undefined && places <= maxPlaces && n < 10n ** 60n) {
    const digits = ((n * 10n ** BigInt(places)) / d).toString().padStart(places + 1, '0')
    return `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`
  }
  const fraction = `${sign}${n}/${d}`
  const approximate = `≈ ${decimalText(toDecimal(num))}`
  return withFraction && fraction.length <= maxPlaces ? `${fraction} ${approximate}` : approximate
}

function decimalText(value: Decimal): string {
  return value.toSignificantDigits(shownDigits).toString()
}

/** Undefined if the decimals never end. */
function decimalPlaces(denominator: bigint): number | undefined {
  let [twos, fives, rest] = [0, 0, denominator]
  for (; rest % 2n === 0n; rest /= 2n) twos += 1
  for (; rest % 5n === 0n; rest /= 5n) fives += 1
  return rest === 1n ? Math.max(twos, fives) : undefined
}

function shortInteger(digits: string): string {
  if (digits.length <= maxShown) return digits
  return `${digits.slice(0, 100)}…${digits.slice(-20)} (${digits.length} digits, ≈ ${digits[0]}.${digits.slice(1, 8)}e${digits.length - 1})`
}
