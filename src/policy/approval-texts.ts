/** A call that waits for the user's word, or has it. */
interface GuardedCall {
  tool: string
  /** Canonical JSON. */
  arguments: string
}

/** Told to the model in place of a result. */
export const waitsForApproval =
  'Not done: this call waits for the approval of the user, who is being asked. Do not try to reach the same otherwise.'

const shownArguments = 1_000
const toldArguments = 4_000

/** What the user is asked: everything that their word would be given for, the destination first. One line. */
export function approvalQuestion(call: GuardedCall & { destination: string | null; reason: string }): string {
  const where = call.destination === null ? '' : ` to ${visible(call.destination)}`
  return `May I call ${visible(call.tool)}${where}, with ${shortened(visible(call.arguments))}? ${call.reason} Yes or no?`
}

/** Told to the model once the user has approved; it makes the call anew. */
export function approvedText(call: GuardedCall): string {
  return `The user approved: ${named(call)}. Make exactly this call now, once.`
}

export function deniedText(call: GuardedCall): string {
  return `The user denied: ${named(call)}. Do not do it, nor the same otherwise.`
}

function named({ tool, arguments: given }: GuardedCall): string {
  return given.length > toldArguments ? `${tool} with the arguments that you gave it` : `${tool} with ${given}`
}

/** Nothing invisible, nothing that turns the line around or ends it: each is shown as its code. */
function visible(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    return Array.from({ length: character.length }, (_, index) => codeOf(character.charCodeAt(index))).join('')
  })
}

function codeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}

function shortened(text: string): string {
  if (text.length <= shownArguments) return text
  const kept = text.slice(0, shownArguments).toWellFormed()
  return `${kept} … (${text.length - shownArguments} more characters, all of them in "familiar approvals")`
}
