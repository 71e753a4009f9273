const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
]
const shortNames = (names: readonly string[]) => names.map((name) => name.slice(0, 3).toLowerCase())

/** The five fields of cron in words, for what people usually write; undefined where only the times themselves say it well. */
export function cronWords(expression: string): string | undefined {
  const [minute, hour, day, month, weekday, ...more] = expression.trim().toLowerCase().split(/\s+/)
  if (minute === undefined) return undefined
  if (hour === undefined) return stepWords(minute, 'minute')
  if (day === undefined || month === undefined || weekday === undefined || more.length > 0) return undefined
  const days = dayWords(day, month, weekday)
  const times = timeWords(minute, hour)
  if (days === undefined || times === undefined) return undefined
  return times.startsWith('every') && days === 'every day' ? times : `${times} ${days}`
}

function stepWords(field: string, unit: string): string | undefined {
  if (field === '*') return `every ${unit}`
  const step = /^\*\/(\d+)$/.exec(field)?.[1]
  if (step === undefined) return undefined
  return step === '1' ? `every ${unit}` : `every ${step} ${unit}s`
}

function timeWords(minute: string, hour: string): string | undefined {
  if (hour === '*') {
    const steps = stepWords(minute, 'minute')
    if (steps) return steps
    return isNumber(minute)
      ? Number(minute) === 0
        ? 'every hour'
        : `every hour at minute ${Number(minute)}`
      : undefined
  }
  if (!isNumber(minute)) return undefined
  const steps = stepWords(hour, 'hour')
  if (steps) return Number(minute) === 0 ? steps : `${steps} at minute ${Number(minute)}`
  const hours = hour.split(',')
  if (!hours.every(isNumber)) return undefined
  return `at ${list(hours.map((one) => `${one.padStart(2, '0')}:${minute.padStart(2, '0')}`))}`
}

function dayWords(day: string, month: string, weekday: string): string | undefined {
  const inMonth = month === '*' ? '' : namesOf(month, months, 1)
  if (inMonth === undefined) return undefined
  const rest = inMonth && ` in ${inMonth}`
  if (day === '*' && weekday === '*') return inMonth ? `every day${rest}` : 'every day'
  // With both days restricted, either is enough: that needs the times to be understood.
  if (day !== '*' && weekday !== '*') return undefined
  if (day !== '*') {
    const days = day.split(',')
    if (!days.every(isNumber)) return undefined
    return `on the ${list(days.map((one) => ordinal(Number(one))))}${inMonth ? ` of ${inMonth}` : ' of every month'}`
  }
  if (weekday === '1-5' || weekday === 'mon-fri') return `on weekdays${rest}`
  const named = namesOf(weekday, weekdays, 0)
  return named === undefined ? undefined : `every ${named}${rest}`
}

function namesOf(field: string, names: readonly string[], first: number): string | undefined {
  const short = shortNames(names)
  const found = field.split(',').map((part) => {
    const named = short.indexOf(part)
    if (named >= 0) return names[named]
    return isNumber(part) ? names[(Number(part) - first) % names.length] : undefined
  })
  return found.every((name) => name !== undefined) ? list(found) : undefined
}

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

function ordinal(count: number): string {
  const last = count % 10
  const isTeen = count > 10 && count < 14
  return `${count}${isTeen ? 'th' : last === 1 ? 'st' : last === 2 ? 'nd' : last === 3 ? 'rd' : 'th'}`
}

const isNumber = (text: string) => /^\d{1,2}$/.test(text)
