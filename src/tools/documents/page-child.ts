import { parseAnyJson } from '../../base/json.ts'
import { reasonOf } from '../../base/text.ts'
import { cleanForeignText, decodeResponse, foreignLine } from './foreign-text.ts'
import type { PageText } from './html-to-markdown.ts'
import type { PageTask } from './read-page.ts'

// The process that reads untrusted documents (read-page.ts): one document, one line of JSON, then it ends.
const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk)
const input = Buffer.concat(chunks)
const newline = input.indexOf('\n')
const task = parseAnyJson(input.subarray(0, newline).toString())
if (!task.ok) throw new Error(task.message)

process.stdout.write(
  `\n${await answer(task.value as unknown as PageTask, new Uint8Array(input.subarray(newline + 1)))}\n`,
)

async function answer(task: PageTask, bytes: Uint8Array): Promise<string> {
  try {
    const { title, text, pages } = await read(task, bytes)
    const cleaned = cleanForeignText(text)
    const isCut = cleaned.length > task.maxCharacters
    return JSON.stringify({
      ok: true,
      title: foreignLine(title, 200),
      text: cleaned.slice(0, task.maxCharacters).toWellFormed(),
      isCut,
      ...(pages && { pages }),
    })
  } catch (error) {
    return JSON.stringify({ ok: false, message: foreignLine(reasonOf(error), 200) })
  }
}

/** The libraries are large, and each document type needs its own. */
async function read({ kind, contentType, address, maxCharacters }: PageTask, bytes: Uint8Array): Promise<PageText> {
  if (kind === 'pdf') return await pdfToText(bytes, maxCharacters)
  if (kind === 'office') {
    const { officeToText } = await import('./office-to-text.ts')
    return officeToText(bytes, maxCharacters)
  }
  const text = decodeResponse(bytes, contentType)
  if (kind === 'text') return { title: '', text }
  const { htmlToMarkdown } = await import('./html-to-markdown.ts')
  return htmlToMarkdown(text, address)
}

async function pdfToText(bytes: Uint8Array, maxCharacters: number): Promise<PageText> {
  const { getDocumentProxy } = await import('unpdf')
  const document = await getDocumentProxy(bytes, { verbosity: 0 }).catch((cause: Error) => {
    throw new Error(cause.name === 'PasswordException' ? 'it is encrypted' : cause.message, { cause })
  })
  const pages: string[] = []
  let size = 0
  for (let number = 1; number <= document.numPages && size < maxCharacters; number += 1) {
    const { items } = await (await document.getPage(number)).getTextContent()
    const words = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''))
    const page = `[page ${number} of ${document.numPages}]\n${words.join('').trim()}`
    pages.push(page)
    size += page.length
  }
  const hasText = pages.some((page) => page.includes('\n') && page.slice(page.indexOf('\n')).trim() !== '')
  const { info } = await document.getMetadata()
  const title: unknown = 'Title' in info ? info.Title : undefined
  return {
    title: typeof title === 'string' ? title : '',
    text: hasText ? pages.join('\n\n') : '',
    pages: { read: pages.length, total: document.numPages },
  }
}
