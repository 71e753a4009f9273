/** Where a crash is tried in the tests. */
type TelegramStep =
  | 'updates_received'
  | 'files_fetched'
  | 'message_submitted'
  | 'command_begun'
  | 'command_run'
  | 'command_answered'
  | 'button_answered'
  | 'place_written'

export type OnTelegramStep = (step: TelegramStep) => void
