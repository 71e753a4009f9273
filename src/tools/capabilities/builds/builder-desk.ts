import type { Seen } from '../../../policy/gate.ts'
import type { Writer } from '../../../storage/database.ts'
import type { BuildQuestions } from './build-questions.ts'
import type { Build } from './builds.ts'

/** A build from the side of the Builder: what its tools tell and ask. Each of them may run again after a crash. */
export interface BuilderDesk extends Pick<BuildQuestions, 'ask' | 'requestSecret' | 'allowsHost'> {
  /** The build that the session works on. */
  buildOf(sessionId: string): Promise<Build | undefined>
  /** Once for each call and message, however often it runs. `seen`: what comes into sight with it. */
  report(build: Build, progress: { callId: string; message: string; seen?: Seen }): Promise<void>
  /** In the unit that makes its version serve: that is the end of the build. `conflict` where it has ended otherwise. */
  completeIn(writer: Writer, build: Build, version: number): Promise<void>
  /** After that unit is committed. */
  completed(build: Build): void
}
