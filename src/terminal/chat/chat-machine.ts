import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { Attachment } from '../../protocol/api.ts'
import { maxAttachmentBytes, readAttachments } from '../attachments.ts'
import { type CommandContext, CommandError } from '../command.ts'

export type TuiMachine = Awaited<ReturnType<typeof openChatMachine>>

/** The history, files and clipboard of the machine that the terminal is on. */
export async function openChatMachine({ homePath, env }: CommandContext) {
  const history = await openChatHistory(homePath)
  const maxBytes = await maxAttachmentBytes({ homePath, env })

  return {
    /** Earlier input, newest first. */
    history: history.entries as readonly string[],
    remember: (text: string) => void history.add(text),
    /** Undefined if there is no such image. */
    async readImage(path: string): Promise<Attachment | undefined> {
      try {
        const [image] = await readAttachments([path.replace(/^~(?=\/)/, homedir())], maxBytes)
        return image
      } catch (error) {
        // A path that leads nowhere is text like any other.
        if (error instanceof CommandError && isMissing(error.cause)) return undefined
        throw error
      }
    },
    /** Undefined if the clipboard has none, or no program can read it. */
    async clipboardImage(): Promise<Attachment | undefined> {
      const data = await readClipboardImage({ env, maxBytes })
      return data && { name: 'clipboard.png', media_type: 'image/png', data: data.toString('base64') }
    },
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')
}

const entrySchema = z.string()
const maxEntries = 1_000
/** A paste of thousands of lines is a document, not something to type again. */
const maxEntryLength = 10_000

/** The lines typed in terminals of this home, newest first, in a private file. */
export async function openChatHistory(homePath: string) {
  const path = join(homePath, 'terminal-history.jsonl')
  const entries = await readEntries(path)
  let writing: Promise<void> = Promise.resolve()

  /** Read again before each write: another terminal may have written since. */
  async function write(text: string): Promise<void> {
    const kept = [text, ...(await readEntries(path)).filter((entry) => entry !== text)].slice(0, maxEntries)
    const lines = kept.toReversed().map((entry) => `${JSON.stringify(entry)}\n`)
    await replaceFile(path, lines.join('')).catch(() => undefined)
  }

  return {
    entries,
    /** Kept in the order of the calls. A full disk loses only the entry. */
    add(text: string): Promise<void> {
      if (text.trim() === '' || text.length > maxEntryLength) return writing
      writing = writing.then(() => write(text))
      return writing
    },
  }
}

async function readEntries(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text
    .split('\n')
    .flatMap((line) => {
      const entry = parseJson(line, entrySchema)
      return entry.ok ? [entry.value] : []
    })
    .slice(-maxEntries)
    .toReversed()
}

/** Programs that print the clipboard image, per system. */
const programs: readonly [file: string, ...args: string[]][] = [
  ['wl-paste', '--no-newline', '--type', 'image/png'],
  ['xclip', '-selection', 'clipboard', '-target', 'image/png', '-out'],
  ['pngpaste', '-'],
]
const timeoutMs = 3_000
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Undefined without such a program, or without an image. */
export async function readClipboardImage(options: {
  env: Readonly<Record<string, string | undefined>>
  maxBytes: number
}): Promise<Buffer | undefined> {
  for (const [file, ...args] of programs) {
    const image = await run(file, args, options)
    if (image) return image
  }
  return undefined
}

function run(
  file: string,
  args: string[],
  { env, maxBytes }: { env: Readonly<Record<string, string | undefined>>; maxBytes: number },
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const options = { env, timeout: timeoutMs, maxBuffer: maxBytes, encoding: 'buffer' } as const
    execFile(file, args, options, (error, stdout) => {
      const isImage = !error && stdout.subarray(0, signature.length).equals(signature)
      resolve(isImage ? stdout : undefined)
    })
  })
}
