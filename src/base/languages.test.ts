import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLanguage, languageOfTag, languageOfTexts, readLanguage } from './languages.ts'

describe('readLanguage', () => {
  it.each([
    ['en', ['Where do I live?', 'My flat has two rooms', 'Thanks', 'Die Hard is my favorite film', 'List my notes']],
    ['de', ['Wo wohne ich?', 'Hallo', 'Ich heiße Max.', 'Was ist 12 * 3?', 'Schreib ein Gedicht', 'grüße']],
    ['es', ['¿Dónde vivo?', 'Vivo en Sevilla', 'Gracias', 'Que hora es', 'Mis recordatorios']],
    ['fr', ['Où est-ce que j’habite ?', 'Merci', 'Montre-moi mes notes', 'Combien font 12 fois 3 ?']],
    ['zh', ['我住在哪里？', '谢谢', 'Familiar 是谁写的？', '80的17%']],
    ['ja', ['私はどこに住んでいますか', 'ありがとう', 'Anna は誰ですか']],
    ['ar', ['أين أسكن؟', 'شكرا', 'من هو Max؟']],
    // Not among the seven, or nothing to go by.
    [
      undefined,
      [
        'Abito a Roma',
        'Moro em Lisboa',
        'Ik woon in Utrecht',
        'Где я живу?',
        'من کجا زندگی می‌کنم',
        '나는 어디에 살아?',
      ],
    ],
    [undefined, ['', '12 * 3', 'Berlin', 'ok', '👍', 'no']],
  ] as const)('OFFLINE-5 reads %s', (language, texts) => {
    expect(texts.map((text) => [text, readLanguage(text)])).toEqual(texts.map((text) => [text, language]))
  })

  it('OFFLINE-5 reads any text, and the same text in the same way', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const language = readLanguage(text)
        expect(language === undefined || isLanguage(language)).toBe(true)
        expect(readLanguage(text)).toBe(language)
      }),
    )
    expect(readLanguage('ich '.repeat(1_000_000))).toBe('de')
  })

  it('OFFLINE-5 takes the newest text that shows a language, else English', () => {
    expect(languageOfTexts(['ok', '12', 'Wo wohne ich?', 'Where do I live?'])).toBe('de')
    expect(languageOfTexts([])).toBe('en')
  })
})

describe('languageOfTag', () => {
  it.each([
    ['de-AT', 'de'],
    ['zh_Hant-TW', 'zh'],
    ['FR', 'fr'],
    ['es_ES.UTF-8', 'es'],
    ['pt-BR', undefined],
    ['deutsch', undefined],
    ['', undefined],
    [null, undefined],
  ])('SEC-16 reads %j as %s', (tag, language) => expect(languageOfTag(tag)).toBe(language))
})
