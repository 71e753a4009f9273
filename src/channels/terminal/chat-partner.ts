import type { StreamedEvent } from '../../protocol/event.ts'

/** The session at the other end of a terminal. */
export interface ChatPartner {
  /** Says it and tells the events of its turn, to the end. Breaking off does not stop the turn. */
  say(text: string): AsyncIterable<StreamedEvent>
  /** False where no turn was running. */
  stop(): Promise<boolean>
}

/** What a `/command` does: its lines are shown as they are. */
export interface ChatCommand {
  /** Behind the name, in the help: `<name>`. */
  takes?: string
  help: string
  run(argument: string): Promise<string[]>
}
