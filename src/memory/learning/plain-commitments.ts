import { formatDay } from '../../base/calendar.ts'
import type { LearnedCommitment } from './learned.ts'
import { type Person, readPerson } from './plain-people.ts'
import { readDeadline } from './read-deadline.ts'

export interface PlainCommitment {
  commitment: LearnedCommitment
  /** Everyone it names, for what is said of them by the way. */
  people: readonly Person[]
}

const owes = /^(?:still |also )?owes? (.+)$/
const promised = /^(?:have |has |had |also |just |already )*(promised|told|agreed|assured) (.+)$/
const duty = /^(?:still |also |really )?(?:have to|need to|must|have got to|['’]ve got to|am supposed to) (.+)$/
const wouldDo = /^(?:that )?(?:I|i|he|she|they|we)(?:['’]d|['’]ll| would| will) (.+)$/
const toDo = /^to (.+)$/
const thing = /^(?:(?:a|an|the|my|our|some|one|two|three|another) |[\d€$£]).+/

/** A debt or a promise that the clause states, of the person that it began with. */
export function readPlainCommitment(person: Person, at: number, timeZone: string): PlainCommitment | undefined {
  const who = person.entity
  const debt = owes.exec(person.rest)?.[1]
  if (debt !== undefined) return finish(readDebt(debt, who))
  const promise = promised.exec(person.rest)
  if (promise) return finish(readPromise(promise[1] ?? '', promise[2] ?? '', who))
  const task = who === 'user' ? duty.exec(person.rest)?.[1] : undefined
  if (task === undefined || !readDeadline(task, at, timeZone)?.isFirm) return undefined
  return finish({ what: task, toWhom: null, people: [] })

  function finish(stated: Stated | undefined): PlainCommitment | undefined {
    if (!stated) return undefined
    const due = readDeadline(stated.what, at, timeZone)
    const what = (due?.rest ?? stated.what).replace(/[\s,.!]+$/, '')
    if (what.length < 2 || what.length > 200 || /^(?:it|that|this|him|her|them|nothing|everything)$/i.test(what)) {
      return undefined
    }
    const deadline = due ? formatDay(due.day) : null
    return { commitment: { who, toWhom: stated.toWhom, what, deadline }, people: [person, ...stated.people] }
  }
}

interface Stated {
  what: string
  toWhom: string | null
  people: readonly Person[]
}

/** "Tom 20 euros for lunch", "20 euros to Tom", "me a book". */
function readDebt(text: string, who: string): Stated | undefined {
  const me = /^(?:me|us) (.+)$/.exec(text)?.[1]
  if (me !== undefined) return who === 'user' ? undefined : { what: me, toWhom: 'user', people: [] }
  const creditor = readPerson(text)
  if (creditor && creditor.entity !== 'user') {
    return thing.test(creditor.rest) ? { what: creditor.rest, toWhom: creditor.entity, people: [creditor] } : undefined
  }
  const place = text.lastIndexOf(' to ')
  const after = place < 0 ? undefined : readPerson(text.slice(place + 4))
  if (!after || after.entity === 'user' || !thing.test(text)) return undefined
  return { what: `${text.slice(0, place)} ${after.rest}`.trim(), toWhom: after.entity, people: [after] }
}

/** "my sister to send the photos", "me that she would call", "to call Anna", "Tom the book". */
function readPromise(verb: string, text: string, who: string): Stated | undefined {
  const me = who === 'user' ? undefined : /^(?:me|us) (.+)$/.exec(text)?.[1]
  const direct = wouldDo.exec(text) ?? (verb === 'told' || verb === 'assured' ? null : toDo.exec(text))
  if (direct) return { what: direct[1] ?? '', toWhom: who === 'user' ? null : 'user', people: [] }
  const named = me === undefined ? readPerson(text.replace(/^with /, '')) : undefined
  const rest = me ?? named?.rest
  if (rest === undefined || named?.entity === 'user') return undefined
  const what =
    (wouldDo.exec(rest) ?? (verb === 'told' ? null : toDo.exec(rest)))?.[1] ??
    (verb === 'promised' && thing.test(rest) ? rest : undefined)
  return what === undefined ? undefined : { what, toWhom: named?.entity ?? 'user', people: named ? [named] : [] }
}
