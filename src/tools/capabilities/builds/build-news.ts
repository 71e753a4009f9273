import { toDisplayText, truncateText } from '../../../base/text.ts'
import { toolNameOf } from '../capability.ts'
import { isForHandAlone } from './build-question-id.ts'
import type { Build, BuildQuestion } from './builds.ts'

const longestWords = 500

/** Of a build that has ended, for the conversation that asked for it. */
export function endLine({ name, kind, state, error }: Build): string {
  const work = kind === 'repair' ? 'Repairing' : 'Building'
  const reason = oneLine(error ?? 'it did not say why')
  switch (state) {
    case 'complete':
      return kind === 'repair'
        ? `The capability ${name} is repaired: call ${toolNameOf(name)}.`
        : `The capability ${name} is ready: call ${toolNameOf(name)}.`
    case 'failed':
      return `${work} ${name} failed: ${reason}`
    case 'stopped':
      return `${work} ${name} was stopped: ${reason}`
    case 'running':
      return `${work} ${name} is under way.`
  }
}

/** Where a question waits, and how it is answered. A secret must never come through a conversation. */
export function questionLine({ id, buildId, name, question, secret }: BuildQuestion): string {
  if (secret !== null) {
    return `The Builder of ${name} needs the secret ${secret} (${JSON.stringify(oneLine(question))}): the user enters it with "familiar caps secret ${name} ${secret}" or on the page, never here.`
  }
  const asks = `The Builder of ${name} asks: ${JSON.stringify(oneLine(question))}`
  return isForHandAlone({ id, build_id: buildId })
    ? `${asks} (only the user can answer, with "familiar caps answer ${id} yes" or on the page)`
    : `${asks} (answer with answer_build, question ${id})`
}

function oneLine(text: string): string {
  return truncateText(toDisplayText(text).replace(/\s+/g, ' ').trim(), longestWords).replaceAll('\n', ' ')
}
