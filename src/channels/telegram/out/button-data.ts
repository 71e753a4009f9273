import { sha256 } from '../../../base/hash.ts'

/** What a button sends back when it is pressed: 64 bytes at most, and the same after a restart. */

export function approvalData(approvalId: string, answer: 'y' | 'n'): string {
  return `a:${approvalId}:${answer}`
}

/** The ids of questions are longer than there is room for. */
export function questionData(questionId: string, choice: 'yes' | 'no'): string {
  return `q:${questionMark(questionId)}:${choice}`
}

/** What stands for the question in the data. */
export function questionMark(questionId: string): string {
  return sha256(questionId).slice(0, 32)
}
