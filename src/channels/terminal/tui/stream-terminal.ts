import { StdinBuffer, type Terminal } from '@earendil-works/pi-tui'

export interface TerminalInput extends NodeJS.ReadableStream {
  setRawMode?(isRaw: boolean): unknown
}

export interface TerminalOutput extends NodeJS.WritableStream {
  columns?: number | undefined
  rows?: number | undefined
}

const brackets = { on: '\u001b[?2004h', off: '\u001b[?2004l' }
/** Tells Shift-Enter from Enter where the terminal can; the others pass over it. */
const tellingKeys = { on: '\u001b[>1u', off: '\u001b[<u' }
const cursor = { hide: '\u001b[?25l', show: '\u001b[?25h' }
/** A lone escape is the key only when nothing follows it for this long, over a slow line too. */
const escapeMs = 30

/**
 * A terminal over two streams. The library has one of its own, which takes the process's streams and writes what it
 * shows into a file where the environment says so.
 */
export function createStreamTerminal(options: { input: TerminalInput; output: TerminalOutput }): Terminal {
  const { input, output } = options
  let buffer: StdinBuffer | undefined
  let release = () => {}
  const write = (text: string) => void output.write(text)

  return {
    start(onInput, onResize) {
      const keys = new StdinBuffer({ escapeTimeout: escapeMs })
      keys.on('data', onInput)
      keys.on('paste', (content) => onInput(`\u001b[200~${content}\u001b[201~`))
      const onData = (chunk: string | Buffer) => keys.process(chunk)
      buffer = keys
      input.setRawMode?.(true)
      input.setEncoding('utf8')
      input.on('data', onData)
      output.on('resize', onResize)
      input.resume()
      write(brackets.on + tellingKeys.on)
      release = () => {
        input.off('data', onData)
        output.off('resize', onResize)
      }
    },
    stop() {
      write(brackets.off + tellingKeys.off)
      buffer?.destroy()
      buffer = undefined
      release()
      // What is still on its way must not reach the shell that comes after us.
      input.pause()
      input.setRawMode?.(false)
    },
    async drainInput() {},
    write,
    get columns() {
      return output.columns || 80
    },
    get rows() {
      return output.rows || 24
    },
    kittyProtocolActive: false,
    moveBy: (lines) => write(lines > 0 ? `\u001b[${lines}B` : lines < 0 ? `\u001b[${-lines}A` : ''),
    hideCursor: () => write(cursor.hide),
    showCursor: () => write(cursor.show),
    clearLine: () => write('\u001b[K'),
    clearFromCursor: () => write('\u001b[J'),
    clearScreen: () => write('\u001b[2J\u001b[H'),
    // A title would be words of others outside the screen.
    setTitle() {},
    setProgress() {},
  }
}
