import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { languages } from '../../base/languages.ts'
import { calculateIn, nowIn, readMomentIn } from './everyday.ts'
import { type Foreign, hear, hearingIn, plainly, readSubject, trimmed } from './heard.ts'
import { planReply } from './plan-reply.ts'
import { nothingBefore } from './read-turn.ts'
import { english, inEnglish, tables, textsOf } from './texts.ts'

const now = 'Sunday, 15 November 2026 at 09:05 (UTC)'
const foreign = languages.filter((language) => language !== 'en')

describe('readMomentIn', () => {
  it.each<[Foreign, string, string | undefined, string]>([
    ['de', 'morgen um 9 Uhr daran, Ruth anzurufen', 'tomorrow at 9:00', 'Ruth anzurufen'],
    ['de', 'am Montag um 18:30 an das Training', 'monday at 18:30', 'Training'],
    ['de', 'heute um 8 Uhr abends ans Kino', 'today at 20:00', 'Kino'],
    ['de', 'übermorgen an die Steuer', '2026-11-17', 'Steuer'],
    ['de', 'in einer halben Stunde an den Tee', 'in 30 minutes', 'Tee'],
    ['de', 'in zwei Stunden an den Ofen', 'in 2 hours', 'Ofen'],
    ['de', 'am 5. Mai 2027 an den Geburtstag', '5 may 2027', 'Geburtstag'],
    ['de', 'an die Milch', undefined, 'Milch'],
    ['es', 'pasado mañana a las 8 de la tarde ir al cine', '2026-11-17 at 20:00', 'ir al cine'],
    ['es', 'mañana a las 9 de la mañana llamar a Ruth', 'tomorrow at 9:00', 'llamar a Ruth'],
    ['es', 'el 5 de mayo el cumpleaños', '5 may', 'el cumpleaños'],
    ['fr', 'demain à 9 h d’appeler Ruth', 'tomorrow at 9:00', 'appeler Ruth'],
    ['fr', 'dans 10 minutes de sortir la pizza', 'in 10 minutes', 'sortir la pizza'],
    ['fr', 'lundi à 18h30 d’aller au sport', 'monday at 18:30', 'aller au sport'],
    ['zh', '后天晚上8点看电影', '2026-11-17 at 20:00', '看电影'],
    ['zh', '３０分钟后拿披萨', 'in 30 minutes', '拿披萨'],
    ['zh', '星期一下午六点半去健身', 'monday at 18:30', '健身'],
    ['ja', '明日の午後3時に歯医者に電話', 'tomorrow at 15:00', '歯医者に電話'],
    ['ja', '2時間後に薬', 'in 2 hours', '薬'],
    ['ar', 'غدا الساعة ٩ بالاتصال بروث', 'tomorrow at 9:00', 'بالاتصال بروث'],
    ['ar', 'بعد ساعتين بالشاي', 'in 2 hours', 'بالشاي'],
    ['ar', 'يوم الاثنين الساعة 6 مساء بالتمرين', 'monday at 18:00', 'بالتمرين'],
  ])('OFFLINE-5 %s %s', (language, said, at, rest) => {
    expect(readMomentIn(language, said, now)).toEqual({ ...(at !== undefined && { at }), rest })
  })
})

describe('calculateIn', () => {
  it.each<[Foreign, string, string]>([
    ['de', 'Wie viel ist 1.500 geteilt durch 4', '1.500 geteilt durch 4 = 375'],
    ['de', 'Was ist 17 % von 80', '17 % von 80 = 13,6'],
    ['es', '¿Cuánto es 7 más 8', '7 más 8 = 15'],
    ['fr', 'Combien font 3,5 fois 2', '3,5 fois 2 = 7'],
    ['zh', '80的17%是多少', '80的17% = 13.6'],
    ['ja', '10割る4は', '10割る4 = 2.5'],
    ['ar', 'كم يساوي ١٢ ضرب ٣', '١٢ ضرب ٣ = 36'],
  ])('OFFLINE-5 %s %s', (language, said, result) => {
    const intent = calculateIn(language, trimmed(hear(said)))
    expect(intent?.type === 'say' && typeof intent.text !== 'string' && intent.text(textsOf(language))).toBe(result)
  })

  it.each<[Foreign, string]>([
    ['de', '3 Äpfel und 4 Birnen'],
    ['de', '5 geteilt durch 0'],
    ['zh', '我有3个苹果'],
  ])('OFFLINE-5 %s %s is no sum', (language, said) => expect(calculateIn(language, hear(said))).toBeUndefined())
})

describe('readSubject', () => {
  const note = (text: string) => ({ text, kind: 'note' as const })

  it.each<[Foreign, string, string, boolean]>([
    ['zh', '我住在哪里？', '我住在上海', true],
    ['zh', '我住在哪里？', '我妹妹住在北京', false],
    ['ja', '私はどこに住んでいますか？', '大阪に住んでいます', true],
    ['ja', '私はどこに住んでいますか？', '妹は東京に住んでいます', false],
    ['ja', '妹はどこに住んでいますか？', '私は大阪に住んでいます', false],
    ['fr', 'Où j’habite ?', 'Ma sœur habite à Nantes', false],
    ['fr', 'Où j’habite ?', 'J’habite à Lyon', true],
    ['de', 'Wo arbeite ich?', 'Meine Mutter sagt: arbeite mehr', false],
  ])('OFFLINE-5 %s “%s” and “%s”: %s', (language, question, text, isAbout) => {
    expect(readSubject(question, language).isAbout(note(text))).toBe(isAbout)
  })
})

describe('the tables of the languages', () => {
  it.each(foreign)('OFFLINE-5 %s has the parts of every text, and nothing that English lacks', (language) => {
    const { texts } = tables[language]
    for (const [name, text] of Object.entries(texts)) {
      const original = english[name as keyof typeof english]
      expect(original, name).toBeDefined()
      const template = Array.isArray(text) ? text.join('\n') : text
      // `purpose` is a part of an English sentence.
      const open = typeof original === 'function' && !/^(?:tool|outcome)/.test(name) ? original.length : 0
      for (let place = 1; place <= open; place += 1) expect(template, name).toMatch(new RegExp(`\\{q?${place}\\}`))
      expect(template).not.toMatch(/undefined|TODO/)
    }
    expect(textsOf(language).help).toContain('`familiar setup`')
    expect(textsOf(language).nothingFound).toContain('`familiar setup`')
    expect(textsOf(language).nothingFound).not.toBe(inEnglish.nothingFound)
    expect(nowIn(language, now)).toMatch(/2026.*UTC/)
  })

  it('OFFLINE-5 replaces letters one for one, so that what is found can be cut from the original', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => plainly(text).length === text.length))
  })
})

describe('any text in any language', () => {
  const words = fc.constantFrom(
    ...foreign.flatMap((language) => {
      const { hear: heard, times } = tables[language]
      return [...heard.greetings.split('|'), ...Object.values(times.days), ...times.weekdays].map((source) =>
        source.replaceAll(/\(\?:|[()?|]/g, ''),
      )
    }),
    ...['9', '٩', '９', '5. Mai', '記', '…', '?', '؟', 'merk dir', 'rappelle-moi', '提醒我', 'リマインドして', 'ذكرني'],
  )
  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 700 }),
    fc.array(words, { maxLength: 30 }).map((all) => all.join(' ')),
  )

  it('OFFLINE-5 has a reply, and a note holds nothing but words of the message', () => {
    fc.assert(
      fc.property(fc.constantFrom(...foreign), anyText, (language, text) => {
        const intents = planReply({ words: text, files: [], before: { ...nothingBefore, language, now } })
        expect(intents.length).toBeGreaterThan(0)
        for (const intent of intents) {
          if (intent.type === 'say') continue
          if (intent.tool !== 'store_memory' || typeof intent.input.content !== 'string') continue
          const told = (part: string) => part.normalize('NFC').replaceAll(/\s+/g, '')
          for (const part of intent.input.content.split(/\s+/)) expect(told(text)).toContain(told(part))
        }
        const { rest } = readMomentIn(language, text, now)
        expect(typeof rest).toBe('string')
      }),
    )
  })

  it('SEC-18 reads a long text of any piece quickly', () => {
    for (const language of foreign) {
      for (const piece of ['ich ', '我', 'あ', 'ا ', '9 ', '提醒我', 'リマインド', ' daran', '، ', '1,']) {
        const text = piece.repeat(100_000 / piece.length)
        planReply({ words: text, files: [], before: { ...nothingBefore, language, now } })
        hearingIn(language).open('remind', trimmed(hear(text)))
      }
    }
  })
})
