import type { Commands } from '../../agent/commands/commands.ts'
import type { Conversations } from '../../agent/conversations.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Users } from '../../policy/users/users.ts'
import type { MediaStore } from '../../sessions/media-store.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { Builds } from '../../tools/capabilities/builds/builds.ts'
import type { Transcriber } from '../../voice/transcriber.ts'
import type { TelegramApi } from './api/telegram-api.ts'
import type { Background } from './background.ts'
import type { Pairing } from './pairing/pairing.ts'
import type { Strangers } from './pairing/strangers.ts'
import type { TelegramContacts } from './pairing/telegram-contacts.ts'
import type { TelegramMarks } from './telegram-marks.ts'
import type { OnTelegramStep } from './telegram-step.ts'

/** A short word to a chat, plain text. */
export interface Note {
  userId: string
  chatId: number
  /** The same one is said once. */
  key: string
  text: string
  buttons?: readonly { text: string; data: string }[]
}

/** Puts a note into the outbox, in the unit of the caller. */
type Tell = (writer: Writer, note: Note) => Promise<void>

/** What the parts of the channel need. */
export interface TelegramServices {
  api: TelegramApi
  bot: { id: number; username: string }
  database: Database
  conversations: Pick<Conversations, 'submit' | 'sessions' | 'answerApproval'>
  commands: Pick<Commands, 'run' | 'list'>
  builds: Pick<Builds, 'answer' | 'questions'>
  media: Pick<MediaStore, 'put'>
  transcriber: Pick<Transcriber, 'status' | 'transcribe'>
  users: Pick<Users, 'list'>
  contacts: TelegramContacts
  pairing: Pick<Pairing, 'tryCode'>
  strangers: Strangers
  marks: TelegramMarks
  tell: Tell
  /** Notes were committed. */
  wakeOutbox(): void
  background: Background
  clock: Clock
  logger: Logger
  onStep: OnTelegramStep
}

/** One update under way. `move` writes that it is dealt with: whatever is done about it, is committed together with that. */
export interface Handling {
  move(writer: Writer): Promise<void>
  signal: AbortSignal
}
