import type { BuildQuestionRow } from '../../../storage/capability-tables.ts'
import type { Build } from './builds.ts'

const ofHost = 'host.'

/** Of the call that asks: made again after a restart, it finds its question. */
export function questionId(build: Pick<Build, 'id'>, callId: string): string {
  // Some servers choose the ids of calls, and none of them may pass for the question about a host.
  return `${build.id}.${callId.startsWith(ofHost) ? `call.${callId}` : callId}`
}

/** One for each host of a build. */
export function hostQuestionId(build: Pick<Build, 'id'>, host: string): string {
  return `${build.id}.${ofHost}${host}`
}

/** What lets a build reach out is the user's own word: no model writes it down for them. */
export function isForHandAlone({ id, build_id }: Pick<BuildQuestionRow, 'id' | 'build_id'>): boolean {
  return id.startsWith(hostQuestionId({ id: build_id }, ''))
}
