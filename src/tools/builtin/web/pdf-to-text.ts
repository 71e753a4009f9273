import { getDocumentProxy } from 'unpdf'
import type { PageText } from './html-to-markdown.ts'

/** The words of a PDF in the order of its pages, up to `mostCharacters`. Only for a process of its own. */
export async function pdfToText(bytes: Uint8Array, mostCharacters: number): Promise<PageText> {
  const document = await getDocumentProxy(bytes, { verbosity: 0 })
  const pages: string[] = []
  let size = 0
  for (let number = 1; number <= document.numPages && size < mostCharacters; number += 1) {
    const { items } = await (await document.getPage(number)).getTextContent()
    const words = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''))
    const page = `[page ${number} of ${document.numPages}]\n${words.join('').trim()}`
    pages.push(page)
    size += page.length
  }
  return { title: await titleOf(document), text: pages.join('\n\n') }
}

async function titleOf(document: Awaited<ReturnType<typeof getDocumentProxy>>): Promise<string> {
  const { info } = await document.getMetadata()
  const title: unknown = 'Title' in info ? info.Title : undefined
  return typeof title === 'string' ? title : ''
}
