import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readApprovalAnswer, readSpokenAnswer } from './spoken-answer.ts'
import vocabularies from './spoken-answers.json' with { type: 'json' }

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

const all = ['once', 'conversation', 'always'] as const
const read = (text: string, scopes: readonly (typeof all)[number][] = all, source = 'cli') =>
  readApprovalAnswer({ text, source }, scopes)

describe('readApprovalAnswer', () => {
  it.each([
    ...['always', 'Always allow', 'yes, always', 'always allow it, please', 'immer', 'Ja, immer erlauben', 'toujours'],
    ...[
      'oui, toujours autoriser',
      'siempre',
      'sí, siempre',
      '总是允许',
      '好的，总是允许',
      '常に許可',
      'はい、常に許可して',
    ],
    ...['دائما', 'نعم، اسمح دائما', '3', ' 3. ', '(3)', '３', '٣'],
  ])('SEC-16 %j allows for good', (text) => expect(read(text)).toEqual({ answer: 'approve', scope: 'always' }))

  it.each([
    ...['in this conversation', 'Yes, in this conversation', 'ok, for this chat', 'in dieser Unterhaltung'],
    ...['ja, nur in diesem Chat', 'dans cette conversation', 'oui, pour cette discussion', 'en esta conversación'],
    ...['在此对话中允许', 'この会話では許可', 'في هذه المحادثة', '2'],
  ])('SEC-16 %j allows in the conversation', (text) =>
    expect(read(text)).toEqual({ answer: 'approve', scope: 'conversation' }),
  )

  it.each([
    ...['yes', 'sure', 'ok', 'go ahead', 'yes, build it', 'just this once', 'yes, only this time', 'once', '1'],
    ...['nur dieses Mal', 'ja, einmal', 'juste cette fois', 'solo esta vez', '就这一次', '今回だけ', 'مرة واحدة فقط'],
  ])('SEC-16 %j allows once', (text) => expect(read(text)).toEqual({ answer: 'approve', scope: 'once' }))

  it.each([
    ...['später', 'Im Moment nicht', 'más tarde', 'ahora mismo no, gracias', 'plus tard', 'pas pour l’instant'],
    ...[
      '以后再说',
      '稍后',
      '後で',
      '今はやめておきます',
      'いいえ、今は結構です',
      'لاحقا',
      'later',
      'not right now',
      '🚫',
      '٤',
      '４',
      '۴',
    ],
  ])('SEC-16 %j is “not now”', (text) => expect(read(text)).toEqual({ answer: 'deny' }))

  it.each(['no', 'not now', 'nein', 'pas maintenant', 'ahora no', '不要', 'いいえ', 'لا', '4'])(
    'SEC-16 %j denies',
    (text) => expect(read(text)).toEqual({ answer: 'deny' }),
  )

  it.each([
    ...[
      'yes, if it is cheap',
      'always?',
      'not always',
      'always, but ask my wife',
      'never always',
      '5',
      '0',
      '12',
      '-1',
    ],
    ...['ja, wenn es billig ist', 'oui, si c’est gratuit', 'toujours pas', 'nicht immer', 'no siempre', '不总是允许'],
    ...['always and never', 'immer noch nicht', 'in this conversation or always', '1 or 2', '1, 2', 'no, always'],
  ])('SEC-16 %j is not an answer', (text) => expect(read(text)).toBeUndefined())

  it('SEC-16 a scope that the question does not offer is no answer, and numbers follow the list', () => {
    expect(read('always', ['once'])).toBeUndefined()
    expect(read('in this conversation', ['once'])).toBeUndefined()
    expect(read('yes', ['once'])).toEqual({ answer: 'approve', scope: 'once' })
    expect(read('2', ['once'])).toEqual({ answer: 'deny' })
    expect(read('3', ['once'])).toBeUndefined()
  })

  it('SEC-16 a number answers nothing where buttons are shown instead of a list', () => {
    for (const source of ['web', 'telegram']) expect(read('3', all, source)).toBeUndefined()
  })

  it('SEC-16 no text with a negation or a question is read as an approval', () => {
    const approving = vocabularies.flatMap(({ yes, go, doing, always, here, once, please, thanks }) =>
      [yes, go, doing, always, here, once, please, thanks].flatMap((list) => list?.split('|') ?? []),
    )
    // The negation belongs to the phrase: "why not", "no problem".
    const fixed = ['why not', 'pourquoi pas', 'cómo no', 'por qué no', '没问题', '沒問題', '没错', '沒錯', 'لا بأس']
    const affirming = ['لا مانع', 'لا مانع لدي', 'danke nein', ...fixed]
    const phrase = fc.constantFrom(...approving.filter((text) => !affirming.includes(text)))
    const negation = fc.constantFrom(
      ...['not', 'no', 'never', "don't", 'dont', 'nicht', 'nein', 'kein', 'nie', 'ne', 'pas', 'non', 'jamais', 'rien'],
      ...[
        'nunca',
        'jamás',
        'tampoco',
        '不',
        '别',
        '没有',
        '未',
        'ない',
        'ません',
        'いいえ',
        'لا',
        'ليس',
        'لن',
        'нет',
        'não',
      ],
      ...['?', '？', '؟', ' why', ' if', ' but'],
    )
    const words = fc.array(phrase, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(words, negation, fc.nat(3), fc.constantFrom(' ', ', ', '', '. '), (parts, word, place, joint) => {
        const text = parts.toSpliced(place % (parts.length + 1), 0, word).join(joint)
        fc.pre(!affirming.some((known) => text.includes(known)))
        for (const source of ['cli', 'web']) expect(read(text, all, source)?.answer).not.toBe('approve')
      }),
      { numRuns: 3_000 },
    )
  })
})
