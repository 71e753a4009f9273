/** What a button stands for. Telegram keeps it with the message, so that it means the same after a restart. */
export type ButtonMeaning =
  | { kind: 'approval'; id: string; answer: 'approve' | 'deny' }
  /** The answer itself to a question of a build; `mark` stands for the question, see `questionMark`. */
  | { kind: 'question'; mark: string; choice: string }
  /** The yes or no to what a command asked. */
  | { kind: 'confirm'; id: string; isYes: boolean }
  /** It only shows what was chosen. */
  | { kind: 'none' }

const pattern = /^([aqc]):([0-9a-zA-Z._-]{1,40}):([\s\S]{1,64})$/

export const noButton = '-'

export function confirmData(id: string, isYes: boolean): string {
  return `c:${id}:${isYes ? 'y' : 'n'}`
}

/** Whatever a program sends in place of Telegram's own: what cannot be read stands for nothing. */
export function readButton(data: string): ButtonMeaning {
  const [, kind, id = '', rest = ''] = pattern.exec(data) ?? []
  if (kind === 'q') return { kind: 'question', mark: id, choice: rest }
  if (rest !== 'y' && rest !== 'n') return { kind: 'none' }
  if (kind === 'a') return { kind: 'approval', id, answer: rest === 'y' ? 'approve' : 'deny' }
  if (kind === 'c') return { kind: 'confirm', id, isYes: rest === 'y' }
  return { kind: 'none' }
}
