import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryDirectory } from './cli-process.ts'

const run = promisify(execFile)
const main = fileURLToPath(new URL('../../src/terminal/main.ts', import.meta.url))

export const hasTmux = spawnSync('tmux', ['-V']).status === 0
if (!hasTmux) console.log('Skipped without tmux: the chat that draws, driven in a real terminal.')

const mostLooks = 300

/** A real terminal with `familiar` in it. */
export interface TmuxPane {
  /** Keys by tmux's names: `Enter`, `C-c`, `Escape`. */
  press(...keys: string[]): Promise<void>
  /** Text as typed by a user. */
  type(text: string): Promise<void>
  /** As the terminal's own paste does, between its marks. */
  paste(text: string): Promise<void>
  resize(columns: number, rows: number): Promise<void>
  /** The screen, with or without colors. */
  screen(options?: { colours?: boolean }): Promise<string>
  /** Resolves with the screen once the pattern stands on it. */
  untilShows(pattern: RegExp): Promise<string>
  close(): Promise<void>
}

export async function openTmuxPane(options: {
  args: readonly string[]
  env: Readonly<Record<string, string>>
  columns?: number
  rows?: number
}): Promise<TmuxPane> {
  const { args, env, columns = 90, rows = 30 } = options
  // Of its own, so that it is gone with the test and no terminal of the user is in sight.
  const socket = join(temporaryDirectory(), 'tmux')
  const tmux = async (...words: string[]) => (await run('tmux', ['-S', socket, '-f', '/dev/null', ...words])).stdout
  const words = [process.execPath, main, ...args].map(quoted).join(' ')
  const variables = Object.entries({ TERM: 'tmux-256color', LANG: 'C.UTF-8', ...env })
  const settings = variables.map(([name, value]) => quoted(`${name}=${value}`)).join(' ')
  // The shell's last word stays on the screen after the chat has left.
  const command = `env -i ${settings} ${words}; echo "left with $?"; sleep 3600`
  await tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), command)
  const screen = ({ colours = false } = {}) => tmux('capture-pane', '-p', ...(colours ? ['-e'] : []))

  return {
    press: async (...keys) => void (await tmux('send-keys', ...keys)),
    type: async (text) => void (await tmux('send-keys', '-l', text)),
    async paste(text) {
      const loading = run('tmux', ['-S', socket, 'load-buffer', '-'])
      loading.child.stdin?.end(text)
      await loading
      await tmux('paste-buffer', '-p')
    },
    resize: async (x, y) => void (await tmux('resize-window', '-x', String(x), '-y', String(y))),
    screen,
    async untilShows(pattern) {
      let shown = ''
      for (let look = 0; look < mostLooks; look += 1) {
        shown = await screen()
        if (pattern.test(shown)) return shown
        await wait(50)
      }
      // The error shows the screen at the time of the failure.
      throw new Error(`The terminal does not show ${pattern}:\n${shown}`)
    },
    close: async () => void (await tmux('kill-server').catch(() => undefined)),
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
