import { attributeKey } from '../../memory/fold-text.ts'

export interface FactText {
  entity: string
  attribute: string
  value: string
}

/** `Anna: birthday is 5 May`, as facts read. */
export function readFact(text: string): FactText | undefined {
  const colon = text.indexOf(': ')
  const being = text.indexOf(' is ', colon)
  if (colon <= 0 || being < 0) return undefined
  return { entity: text.slice(0, colon), attribute: text.slice(colon + 2, being), value: text.slice(being + 4) }
}

// For what is told with a verb: of the user, and of anyone else.
const verbs: Record<string, readonly [string, string]> = Object.fromEntries(
  Object.entries({
    is: ['are', 'is'],
    age: ['are', 'is'],
    'allergic to': ['are allergic to', 'is allergic to'],
    'married to': ['are married to', 'is married to'],
    from: ['are from', 'is from'],
    'born in': ['were born in', 'was born in'],
    'lives in': ['live in', 'lives in'],
    'works at': ['work at', 'works at'],
    likes: ['like', 'likes'],
    prefers: ['prefer', 'prefers'],
    dislikes: ['dislike', 'dislikes'],
    speaks: ['speak', 'speaks'],
    plays: ['play', 'plays'],
  } satisfies Record<string, readonly [string, string]>).map(([attribute, forms]) => [attributeKey(attribute), forms]),
)

/** A fact as one would say it to the user: "Anna’s birthday is 5 May", "You live in Rome". No mark at the end. */
export function factSentence({ entity, attribute, value }: FactText): string {
  const isUser = entity === 'user'
  const forms = verbs[attributeKey(attribute)]
  if (forms) return `${isUser ? 'You' : entity} ${forms[isUser ? 0 : 1]} ${value}`
  return `${isUser ? 'Your' : `${entity}’s`} ${attribute} is ${value}`
}

/** `user owes Anna: send the photos`, as one would say it to the user. */
export function debtSentence(text: string): string {
  const match = /^(.{1,200}?) owes(?: (.{1,200}?))?: /.exec(text)
  if (!match) return text
  const [all, who = '', to] = match
  const what = text.slice(all.length).replace(/, by \d{4}-\d{2}-\d{2}/, '')
  const owes = who === 'user' ? 'You owe' : `${who} owes`
  return to === undefined ? `${owes}: ${what}` : `${owes} ${to === 'user' ? 'you' : to}: ${what}`
}
