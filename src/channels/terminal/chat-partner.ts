import type { StreamedEvent } from '../../protocol/event.ts'

/** The session at the other end of a terminal. */
export interface ChatPartner {
  /** Says it and tells the events of its turn, to the end. Breaking off does not stop the turn. */
  say(text: string): AsyncIterable<StreamedEvent>
  /** False where no turn was running. */
  stop(): Promise<boolean>
}

/** What the other end does with a line that begins with a slash. */
export interface ChatCommands {
  /** With `confirm` the user has said yes to the question that it came with. */
  run(line: string, confirm?: string): Promise<CommandReply>
  /** What may stand from `start` on. */
  complete(
    line: string,
  ): Promise<{ start: number; candidates: readonly { text: string; summary?: string | undefined }[] }>
}

interface CommandReply {
  /** False where it was not understood or could not be done. */
  ok: boolean
  text: string
  /** Nothing was done: the text is a question, and this comes back with the user's yes. */
  confirm?: string | undefined
}

/** What a `/command` of the terminal itself does: its lines are shown as they are. */
export interface ChatCommand {
  help: string
  run(): Promise<string[]>
}
