import { homedir } from 'node:os'
import type { TuiMachine } from '../../channels/terminal/tui/tui-partner.ts'
import { readAttachments } from '../attachments.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { openChatHistory } from './chat-history.ts'
import { readClipboardImage } from './clipboard-image.ts'

/** The history, files and clipboard of the machine that the terminal is on. */
export async function openChatMachine({ homePath, env }: CommandContext): Promise<TuiMachine> {
  const history = await openChatHistory(homePath)
  const { loadConfig } = await import('../../daemon/config/load-config.ts')
  const loaded = loadConfig({ home: homePath, env })
  const maxBytes = loaded.ok ? loaded.config.http.maxAttachmentBytes : 20_000_000

  return {
    history: history.entries,
    remember: (text) => void history.add(text),
    async readImage(path) {
      try {
        const [image] = await readAttachments([path.replace(/^~(?=\/)/, homedir())], maxBytes)
        return image
      } catch (error) {
        // A path that leads nowhere is text like any other.
        if (error instanceof CommandError && isMissing(error.cause)) return undefined
        throw error
      }
    },
    async clipboardImage() {
      const data = await readClipboardImage({ env, maxBytes })
      return data && { name: 'clipboard.png', media_type: 'image/png', data: data.toString('base64') }
    },
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')
}
