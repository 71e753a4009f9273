import { toDisplayText, truncateText } from '../../../base/text.ts'
import { isForHandAlone } from '../../../tools/capabilities/builds/build-question-id.ts'
import type { Build, BuildQuestion } from '../../../tools/capabilities/builds/builds.ts'
import { questionData } from './button-data.ts'
import type { TelegramPayloadInput } from './telegram-payload.ts'

const longestWords = 3_000

/** A question of a Builder. A secret is never asked for in the chat: its place is behind a link of one use. */
export function questionPayload(question: BuildQuestion): TelegramPayloadInput {
  const { id, buildId, name, secret, isUntrusted, expiresAt: notAfter } = question
  const words = shown(question.question)
  const caution = isUntrusted ? '\n\n(Texts of others were in sight when this was asked.)' : ''
  if (secret !== null) {
    return {
      kind: 'secret',
      text: `Building ${name} needs the secret ${secret}: ${words}${caution}`,
      notAfter,
      questionId: id,
    }
  }
  const text = `Building ${name}: ${words}${caution}`
  if (!isForHandAlone({ id, build_id: buildId })) return { kind: 'text', text, notAfter, wantsReply: true }
  const buttons = [
    [
      { text: 'Yes', data: questionData(id, 'yes') },
      { text: 'No', data: questionData(id, 'no') },
    ],
  ]
  return { kind: 'text', text, notAfter, buttons }
}

/** How a build has ended. */
export function endPayload({ name, kind, state, error }: Build): TelegramPayloadInput {
  const work = kind === 'repair' ? 'Repairing' : 'Building'
  const reason = shown(error ?? 'it did not say why')
  if (state === 'complete') return { kind: 'text', text: `${name} is ${kind === 'repair' ? 'repaired' : 'ready'}.` }
  return { kind: 'text', text: `${work} ${name} ${state === 'stopped' ? 'was stopped' : 'failed'}: ${reason}` }
}

function shown(text: string): string {
  return truncateText(toDisplayText(text.toWellFormed()).trim(), longestWords)
}
