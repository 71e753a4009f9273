import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readSpokenAnswer } from './spoken-answer.ts'

describe('readSpokenAnswer', () => {
  it.each([
    ...['yes', 'Yes.', ' YES! ', 'yes, please', 'Yes, go ahead.', 'approve', 'Approved', 'do it', 'Yes, build it'],
    ...['yes please build it', 'sure', 'Sure!', 'Sure, go ahead', 'ok', 'OK.', 'okay, do it', 'go ahead', 'Go for it!'],
    ...['yeah', 'yep', 'y', 'yes yes', 'of course', 'Absolutely.', 'please do', 'proceed', 'yes, send it', 'alright'],
    ...[
      'that’s fine',
      'fine by me',
      'yes, this once',
      'you may',
      'sounds good',
      '👍',
      '👍🏽',
      'yes 👍',
      '✅',
      'I agree',
    ],
    ...[
      'ja',
      'Ja, bitte',
      'ja, mach das',
      'klar',
      'na klar!',
      'gerne',
      'okay, leg los',
      'nur zu',
      'In Ordnung',
      'mach’s',
    ],
    ...[
      'ja, bau es',
      'Einverstanden.',
      'natürlich',
      'naturlich',
      'oui',
      'Oui, vas-y',
      'd’accord',
      'bien sûr',
      'allez-y',
    ],
    ...[
      'oui s’il te plaît',
      'ok, fais-le',
      'sí',
      'si',
      'Sí, adelante',
      'claro',
      'claro que sí',
      'vale',
      'hazlo',
      'dale',
    ],
    ...[
      'sí, por favor',
      '¡Sí!',
      '¡Adelante!',
      '好',
      '好的',
      '是的。',
      '可以',
      '行',
      '没问题',
      '好的，继续',
      '请继续',
      '同意',
      '當然可以',
    ],
    ...[
      '可以，做吧！',
      '好吧',
      'はい',
      'はい、お願いします',
      'はい。',
      'お願いします',
      'いいですよ',
      'もちろん',
      'どうぞ',
      '進めてください',
    ],
    ...[
      'はい、作ってください',
      '承認します',
      'نعم',
      'نعم، تفضل',
      'أجل',
      'موافق',
      'حسناً',
      'طيب',
      'نعم من فضلك',
      'افعل ذلك',
    ],
    ...['Да', 'да, конечно', 'sim', 'tak', 'sì', 'va bene'],
  ])('SEC-16 %j approves', (text) => expect(readSpokenAnswer(text)).toBe('approve'))

  it.each([
    ...[
      'no',
      'No!',
      'no, thanks',
      'no thank you',
      'don’t',
      'dont',
      'deny',
      'Stop.',
      'nope',
      'Nah',
      'n',
      'no no',
      'not now',
    ],
    ...[
      'No, not now.',
      'not yet',
      'please don’t',
      'no, don’t',
      'no don’t do it',
      'no, stop',
      'cancel',
      'never',
      'no way',
    ],
    ...['better not', 'I’d rather not', 'of course not', 'absolutely not', 'never mind', 'forget it', '👎', 'no 👎'],
    ...[
      'nein',
      'Nein, danke',
      'nein danke!',
      'lieber nicht',
      'nicht jetzt',
      'jetzt nicht',
      'nö',
      'auf keinen Fall',
      'lass das',
    ],
    ...['non', 'non merci', 'pas maintenant', 'Non, pas encore', 'surtout pas', 'ne le fais pas', 'annule', 'jamais'],
    ...['no, gracias', 'ahora no', 'todavía no', 'mejor no', 'no lo hagas', 'claro que no', 'de ninguna manera'],
    ...['不', '不要', '不行', '不用，谢谢', '不用了谢谢', '现在不要', '别', '取消', '先不要', '算了', '否', '拒绝'],
    ...[
      'いいえ',
      'いいえ、結構です',
      'だめ',
      'ダメです',
      'やめて',
      'しないでください',
      '今はやめて',
      'いや、やめてください',
    ],
    ...['لا', 'لا شكرا', 'كلا', 'ليس الآن', 'لا تفعل ذلك', 'توقف', 'لا، توقف', 'لا أوافق', 'нет', 'não', 'nie'],
  ])('SEC-16 %j denies', (text) => expect(readSpokenAnswer(text)).toBe('deny'))

  it.each([
    ...[
      '',
      'thanks',
      'please',
      'yes?',
      'yes and no',
      'yes, but not to him',
      'yes\nno',
      'yes\n\nand what is the weather?',
    ],
    ...[
      'no yes',
      'yes, no',
      'yes yes yes',
      'not yes',
      'yesterday',
      'y\u200bes',
      '\u202eyes',
      'ｙｅｓ',
      'nobody',
      'okra',
    ],
    ...['Yes, and forward this too: …', 'approve all', 'always approve', 'yes, but first tell me what it sends'],
    ...[
      'no idea what that is',
      'no idea',
      'ok what does it do?',
      'ok what does it do',
      'ok, thanks',
      'ok then',
      'no problem',
    ],
    ...[
      'don’t stop',
      'do not cancel',
      'no cancel',
      'never stop',
      'yes, stop',
      'ok, don’t',
      'sure not',
      'build it',
      'send it',
    ],
    ...['yes to the first one', 'no, use the other one', 'go away', 'do it tomorrow', 'yes, at 5', 'not sure', 'sure?'],
    ...[
      'ja aber erst später',
      'kein Problem',
      'nein, nimm die andere',
      'ja oder nein',
      'danke',
      'weiß nicht',
      'was macht das',
    ],
    ...[
      'oui mais pas ça',
      'non, plutôt l’autre',
      'merci',
      'je ne sais pas',
      'sí, pero primero dime',
      'no sé',
      'no cancelar',
    ],
    ...[
      'no pares',
      'gracias',
      '好吗？',
      '好不好',
      '不知道',
      '可以不要吗',
      '不停',
      '不要停',
      '不要取消',
      '别停',
      '可是',
      '谢谢',
    ],
    ...[
      'はい、でも',
      'やめないで',
      'いいです',
      'わからない',
      'それは何',
      'ありがとう',
      'نعم لكن',
      'لا أعرف',
      'لا تتوقف',
      'لا توقف',
      'شكرا',
      'نعم؟',
    ],
  ])('SEC-16 %j is not an answer', (text) => expect(readSpokenAnswer(text)).toBeUndefined())

  it('SEC-16 an answer followed by a question or another clause is not an answer', () => {
    const plain = fc.constantFrom('yes', 'ok', 'no', 'ja', 'non', 'sí', '好', 'はい', 'لا')
    const clause = fc.constantFrom('what is it', 'but not yet', 'why', 'the other one', 'tell me more', 'and then', 'x')
    const joint = fc.constantFrom(' ', ', ', '. ', '! ', ' - ', '; ')
    fc.assert(
      fc.property(plain, joint, clause, (word, between, more) => {
        expect(readSpokenAnswer(`${word}${between}${more}`)).toBeUndefined()
        expect(readSpokenAnswer(`${word}?`)).toBeUndefined()
        expect(readSpokenAnswer(`${more}${between}${word}`)).toBeUndefined()
      }),
    )
  })

  it('SEC-16 a yes together with a no is not an answer, in any two languages', () => {
    const yes = fc.constantFrom('yes', 'ok', 'ja', 'oui', 'sí', '好的', 'はい', 'نعم', 'go ahead')
    const no = fc.constantFrom('no', 'nein', 'non', '不要', 'いいえ', 'لا', "don't", 'not now')
    fc.assert(
      fc.property(yes, no, fc.constantFrom(' ', ', ', '. '), fc.boolean(), (one, other, between, isTurned) => {
        expect(readSpokenAnswer(isTurned ? `${other}${between}${one}` : `${one}${between}${other}`)).toBeUndefined()
      }),
    )
  })

  it('SEC-16 a long text is never an answer, whatever it begins with', () => {
    fc.assert(fc.property(fc.string({ minLength: 61 }), (text) => readSpokenAnswer(`yes ${text}`) === undefined))
  })

  it('SEC-16 only letters count as a word of an answer', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (before, after) => {
        const letters = /[\p{L}\p{N}\p{C}]/u
        fc.pre(letters.test(before.trim()) || letters.test(after.trim()))
        const answer = readSpokenAnswer(`${before} allow it ${after}`)
        expect([undefined, 'approve']).toContain(answer)
        if (answer) expect(`${before} allow it ${after}`.replaceAll(/[^a-z]/gi, '')).toBe('allowit')
      }),
    )
  })
})
