import { getDocumentProxy } from 'unpdf'
import type { PageText } from './html-to-markdown.ts'

/** The text of a PDF in page order, up to `maxCharacters`. Only for a separate process. */
export async function pdfToText(bytes: Uint8Array, maxCharacters: number): Promise<PageText> {
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
  return {
    title: await titleOf(document),
    text: hasText ? pages.join('\n\n') : '',
    pages: { read: pages.length, total: document.numPages },
  }
}

async function titleOf(document: Awaited<ReturnType<typeof getDocumentProxy>>): Promise<string> {
  const { info } = await document.getMetadata()
  const title: unknown = 'Title' in info ? info.Title : undefined
  return typeof title === 'string' ? title : ''
}
