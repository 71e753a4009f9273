import type { MediaPart } from '../../../src/protocol/messages.ts'
import type { Item } from '../chat/conversation.ts'
import { endingOf, readInfo } from '../components/markdown-source.ts'
import { type FoundBlock, findBlocks, nameAround, titleOf } from './code-blocks.ts'

/** How a document is shown. `code`: as its text. */
export type PreviewKind =
  | 'html'
  | 'svg'
  | 'mermaid'
  | 'markdown'
  | 'table'
  | 'pdf'
  | 'picture'
  | 'audio'
  | 'video'
  | 'document'
  | 'code'

const byName: Readonly<Record<string, PreviewKind>> = {
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  svg: 'svg',
  mermaid: 'mermaid',
  mmd: 'mermaid',
  md: 'markdown',
  markdown: 'markdown',
  csv: 'table',
  tsv: 'table',
  pdf: 'pdf',
  docx: 'document',
  xlsx: 'document',
  pptx: 'document',
  odt: 'document',
  ods: 'document',
  odp: 'document',
}

export function kindOfCode({ language, name = '' }: Pick<FoundBlock, 'language' | 'name'>): PreviewKind {
  const kind = own(byName, language) ?? own(byName, endingOf(name))
  return kind === 'pdf' || kind === 'document' ? 'code' : (kind ?? 'code')
}

/** Undefined where only the content can tell whether it is text. */
export function kindOfFile(name: string, mediaType: string): PreviewKind | undefined {
  if (/^image\/(png|jpeg|gif|webp)$/.test(mediaType)) return 'picture'
  if (/^audio\//.test(mediaType)) return 'audio'
  if (/^video\/(mp4|webm)$/.test(mediaType)) return 'video'
  if (mediaType === 'application/pdf') return 'pdf'
  if (/^application\/vnd\.(openxmlformats-officedocument|oasis\.opendocument)\./.test(mediaType)) return 'document'
  const byType = /^(?:text|image|application)\/(?:x-)?(html|xhtml|svg|markdown|csv)(?:\+xml)?$/.exec(mediaType)?.[1]
  return own(byName, byType ?? '') ?? own(byName, endingOf(name))
}

const own = <T>(table: Readonly<Record<string, T>>, name: string) =>
  Object.hasOwn(table, name.toLowerCase()) ? table[name.toLowerCase()] : undefined

const languagesByEnding: Readonly<Record<string, string>> = {
  bat: '',
  cfg: 'ini',
  conf: 'ini',
  cts: 'typescript',
  log: '',
  mts: 'typescript',
  txt: '',
}

/** For the colors of a file's text. */
export function languageOfFile(name: string): string {
  const base = name.split('/').at(-1) ?? ''
  if (/^dockerfile$/i.test(base)) return 'docker'
  if (/^makefile$/i.test(base)) return 'makefile'
  const ending = endingOf(name)
  return own(languagesByEnding, ending) ?? ending
}

const endings: Readonly<Record<string, string>> = {
  bash: 'sh',
  csharp: 'cs',
  javascript: 'js',
  kotlin: 'kt',
  markdown: 'md',
  mermaid: 'mmd',
  perl: 'pl',
  powershell: 'ps1',
  python: 'py',
  ruby: 'rb',
  rust: 'rs',
  shell: 'sh',
  shellscript: 'sh',
  terraform: 'tf',
  text: 'txt',
  typescript: 'ts',
  yaml: 'yml',
}

/** A name for a download of a code block. It names no folder. */
export function downloadName({ language, name }: Pick<FoundBlock, 'language' | 'name'>, title?: string): string {
  const base = (name ?? '').split(/[\\/]/).at(-1) ?? ''
  if (base !== '' && endingOf(base) !== '') return base
  const ending = own(endings, language) ?? (/^[a-z0-9]{1,10}$/.test(language) ? language : 'txt')
  const words = (title ?? base).replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '')
  return `${words.slice(0, 60) || 'code'}.${ending}`
}

/** Saves a file that the page has. The type never lets a browser open it as a page of this origin. */
export function saveFile(name: string, content: string | Uint8Array<ArrayBuffer>): void {
  const address = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser reads it while the download starts.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** Saves a code block under the name that it gives itself. */
export function saveCode(code: string, info: string): void {
  const { language, name = nameAround('', code) } = readInfo(info)
  saveFile(downloadName({ language, ...(name && { name }) }, titleOf({ code, language })), code)
}

/** The text of a file; undefined where it is none. */
export function readText(bytes: Uint8Array): string | undefined {
  if (bytes.subarray(0, 8_000).includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const known = new WeakMap<Item, FoundBlock[]>()

/** The code blocks of a conversation, oldest first. Items that did not change are read once. */
export function blocksIn(items: readonly Item[]): FoundBlock[] {
  return items.flatMap((item) => {
    const found = known.get(item) ?? findBlocks(textOf(item))
    known.set(item, found)
    return found
  })
}

function textOf(item: Item): string {
  if (item.kind === 'note') return ''
  if (item.kind === 'message') return item.text
  const texts = item.parts.flatMap((part) => (part.kind === 'text' || part.kind === 'said' ? [part.text] : []))
  // Without a fence there is nothing to read.
  return texts.some((text) => /`{3}|~{3}/.test(text)) ? texts.join('\n\n') : ''
}

/** The versions of a file in a conversation, oldest first: the same path, or for attachments the same name. */
export function mediaVersions(items: readonly Item[], shown: MediaPart): MediaPart[] {
  const all = items.flatMap((item): readonly MediaPart[] => {
    if (item.kind === 'message') return item.media
    return item.kind === 'turn' ? item.parts.flatMap((part) => (part.kind === 'tool' ? (part.media ?? []) : [])) : []
  })
  const nameOf = ({ path, name }: MediaPart) => path ?? name
  const same = all.filter((part) => nameOf(part) === nameOf(shown))
  const distinct = same.filter((part, at) => same[at - 1]?.hash !== part.hash)
  return distinct.some(({ hash }) => hash === shown.hash) ? distinct : [...distinct, shown]
}
