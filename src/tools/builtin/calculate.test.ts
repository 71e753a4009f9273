import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { toolContext } from '../../../test/support/tool-context.ts'
import { BadExpression, evaluate } from './arithmetic.ts'
import { createCalculate } from './calculate.ts'

const clock = createManualClock(Date.UTC(2026, 10, 18, 21))
const tool = createCalculate({ clock, timeZone: 'Europe/Berlin' })
const ask = (expression: string) => tool.run({ expression }, toolContext())

describe('calculate', () => {
  it.each([
    ['0.1 + 0.2', '0.3'],
    ['2^100', '1267650600228229401496703205376'],
    ['1/3*3', '1'],
    ['1/3', '1/3 ≈ 0.333333333333333'],
    ['15% of 80', '12'],
    ['200 + 10%', '220'],
    ['-2^2', '-4'],
    ['2^3^2', '512'],
    ['8^(1/3)', '2'],
    ['sqrt(16/9)', '4/3 ≈ 1.33333333333333'],
    ['sqrt(2)', '≈ 1.4142135623731'],
    ['(2+3)*4!', '120'],
    ['7 mod 3', '1'],
    ['-7 mod 3', '2'],
    ['mean(1,2,6)', '3'],
    ['median(9, 1, 5, 2)', '3.5'],
    ['round(2/3, 2)', '0.67'],
    ['lcm(4,6) + gcd(12,18)', '18'],
    ['1e3 × 2 ÷ 4', '500'],
    ['sin(pi/6)', '≈ 0.5'],
    ['26.2 mi in km', '42.1648128 km'],
    ['98.6 °F in °C', '37 °C'],
    ['-40 C to F', '-40 °F'],
    ['5 ft 11 in to cm', '180.34 cm'],
    ['5 in in cm', '12.7 cm'],
    ['90 km/h to m/s', '25 m/s'],
    ['10 kg / 4 kg', '2.5'],
    ['1 GiB in MB', '1073.741824 MB'],
    ['3 cups in ml', '709.7647095 ml'],
  ])('TOOLS-4 %s = %s', async (expression, result) => {
    expect(await ask(expression)).toEqual({ text: `${expression} = ${result}`, isError: false })
  })

  it.each([
    ['days between 2026-03-01 and 2026-11-18', '262 days (8 months, 17 days)'],
    ['2026-11-18 - 2026-03-01', '262 days (8 months, 17 days)'],
    ['90 days after 2026-03-01', 'Saturday, 2026-05-30 (week 22, day 150 of the year)'],
    ['2026-01-31 + 1 month', 'Saturday, 2026-02-28 (week 9, day 59 of the year)'],
    ['2 weeks before today', 'Wednesday, 2026-11-04 (week 45, day 308 of the year)'],
    ['weekday of 2024-02-29', 'Thursday, 2024-02-29 (week 9, day 60 of the year)'],
    ['days until 2026-12-24', '36 days'],
    ['15:30 Europe/Berlin in Asia/Tokyo', 'Wednesday, 2026-11-18, 23:30 Asia/Tokyo (UTC+09:00)'],
    ['5 pm America/New_York in UTC', 'Wednesday, 2026-11-18, 22:00 UTC (UTC+00:00)'],
    ['now in America/New_York', 'Wednesday, 2026-11-18, 16:00 America/New_York (UTC-05:00)'],
    // The clocks go forward there: the hour from 2 to 3 does not exist.
    ['2026-03-29 01:30 + 1 hour', 'Sunday, 2026-03-29, 03:30 Europe/Berlin (UTC+02:00)'],
  ])('TOOLS-4 %s = %s', async (expression, result) => {
    expect(await ask(expression)).toEqual({ text: `${expression} = ${result}`, isError: false })
  })

  it.each([
    ['1/0', 'division by zero'],
    ['2 +', 'it ends too early'],
    ['5 km + 3 s', 'km and s cannot be added'],
    ['5 km in kg', 'km (length) is not a mass (kg)'],
    ['process.exit(1)', '"." at character 8 is not understood'],
    ['constructor(1)', '"constructor" at character 1 is not known'],
    ['2; 3', '";" at character 2 is not understood'],
    ['9^9^9^9', 'the power is too large'],
    ['99999!', 'a factorial goes from 0 to 3000'],
    ['2026-02-30', 'Invalid day: 30'],
    ['9:00 Nowhere/Land in UTC', 'Invalid time zone'],
    ['100 USD in EUR', '"USD" at character 5 was not expected'],
    ['('.repeat(400), 'nested too deeply'],
  ])('TOOLS-4 refuses %s: %s', async (expression, reason) => {
    expect(await ask(expression)).toMatchObject({ isError: true, text: expect.stringContaining(reason) })
  })

  it('TOOLS-4 agrees with a second evaluation in whole fractions for every expression of + - * / ^ and brackets', () => {
    type Made = { text: string; n: bigint; d: bigint }
    const whole = fc.bigInt(-9_999n, 9_999n).map((n): Made => ({ text: n < 0n ? `(${n})` : String(n), n, d: 1n }))
    const decimal = fc.tuple(fc.nat(999), fc.nat(999)).map(
      ([a, b]): Made => ({
        text: `${a}.${String(b).padStart(3, '0')}`,
        n: BigInt(a) * 1000n + BigInt(b),
        d: 1000n,
      }),
    )
    const { made } = fc.letrec<{ made: Made }>((tie) => ({
      made: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        whole,
        decimal,
        fc.tuple(tie('made'), fc.constantFrom('+', '-', '*', '/', '^'), tie('made')).map(([a, sign, b]): Made => {
          const text = `(${a.text} ${sign} ${b.text})`
          if (sign === '+') return { text, n: a.n * b.d + b.n * a.d, d: a.d * b.d }
          if (sign === '-') return { text, n: a.n * b.d - b.n * a.d, d: a.d * b.d }
          if (sign === '*') return { text, n: a.n * b.n, d: a.d * b.d }
          if (sign === '/' && b.n !== 0n) return { text, n: a.n * b.d, d: a.d * b.n }
          return { text: `(${a.text})^3`, n: a.n ** 3n, d: a.d ** 3n }
        }),
      ),
    }))
    fc.assert(
      fc.property(made, ({ text, n, d }) => {
        // The difference is compared, so that the display plays no part.
        const difference = `${text} - (${n})/(${d})`
        fc.pre(difference.length <= 500)
        expect(evaluate(difference)).toBe('0')
      }),
      { numRuns: 300 },
    )
  }, 60_000)

  it('TOOLS-4 any text is computed or refused with a reason, never more', () => {
    const piece = fc.constantFrom(
      ...'0 1 2.5 1e9 ( ) + - * / ^ ! % , in to km ft °C sqrt max pi e today 2026-01-01 and days between after mod of'.split(
        ' ',
      ),
    )
    const texts = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(' ')),
      fc.string({ unit: 'binary', maxLength: 40 }),
    )
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(evaluate(text)).not.toMatch(/NaN|Infinity|undefined/)
        } catch (error) {
          expect(error).toBeInstanceOf(BadExpression)
        }
      }),
      { numRuns: 2_000 },
    )
  }, 60_000)

  it('TOOLS-4 any words around dates are computed or refused too', async () => {
    const piece = fc.constantFrom(
      ...'today now 2026-02-30 2026-01-01 9999-12-31 15:30 25:99 5pm UTC Europe/Berlin days between and after before until since ago in 3 999999 weeks years hours + -'.split(
        ' ',
      ),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 7 }), async (parts) => {
        expect(typeof (await ask(parts.join(' '))).text).toBe('string')
      }),
      { numRuns: 1_000 },
    )
  }, 60_000)
})
