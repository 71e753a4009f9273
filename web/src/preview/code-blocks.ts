import { fileName, maxNameLength, readInfo } from '../components/markdown-source.ts'

/** A code block of a conversation. */
export interface FoundBlock {
  code: string
  language: string
  /** Of its file, where the reply says one. */
  name?: string
}

const endsWithName = new RegExp(`(?:^|[\\s\`*"'(])(${fileName})[\`*"')]*\\s*:?\\s*$`)
const commentedName = new RegExp(
  String.raw`^\s*(?:\/\/|#|--|;|%|<!--|\/\*)\s*(?:file(?:name)?\s*:\s*)?(${fileName})\s*(?:-->|\*\/)?\s*$`,
  'i',
)

/** The closed code blocks of a Markdown text, in order, with the file names that the text gives them. */
export function findBlocks(text: string): FoundBlock[] {
  const found: FoundBlock[] = []
  let open: { indent: number; marks: string; info: string; before: string; lines: string[] } | undefined
  let before = ''
  for (const line of text.split('\n')) {
    if (!open) {
      const [, space = '', marks, info = ''] = /^([ \t]{0,12})(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(line) ?? []
      if (marks !== undefined) open = { indent: space.length, marks, info, before, lines: [] }
      else if (line.trim() !== '') before = line
      continue
    }
    const end = /^[ \t]*(`{3,}|~{3,})\s*$/.exec(line)?.[1]
    if (!end?.startsWith(open.marks)) {
      open.lines.push(line.slice(Math.min(open.indent, line.length - line.trimStart().length)))
      continue
    }
    const code = open.lines.join('\n')
    const { language, name = nameAround(open.before, code) } = readInfo(open.info)
    found.push({ code, language, ...(name && { name }) })
    open = undefined
    before = ''
  }
  return found
}

/** The name at the end of the line above a block, or in the comment that starts it. */
export function nameAround(before: string, code: string): string | undefined {
  const above = before.length <= 300 && !before.includes('://') ? endsWithName.exec(before)?.[1] : undefined
  return above ?? commentedName.exec(code.slice(0, code.indexOf('\n') >>> 0).slice(0, 200))?.[1]
}

/** The name that a document gives itself: the title of a page or drawing, the first heading of a text. */
export function titleOf({ code, language }: Pick<FoundBlock, 'code' | 'language'>): string | undefined {
  const start = code.slice(0, 4_000)
  const form = /^(?:html?|svg|xml)$/.test(language)
    ? /<title[^>]{0,80}>([^<]{1,200})<\/title>/i
    : /^(?:md|markdown)$/.test(language)
      ? /^#{1,2}[ \t]+(\S.{0,199})$/m
      : language === 'mermaid'
        ? /^[ \t]*title:?[ \t]+(\S.{0,199})$/m
        : undefined
  return form?.exec(start)?.[1]?.trim().slice(0, maxNameLength) || undefined
}

function keyOf(block: FoundBlock): string | undefined {
  if (block.name !== undefined) return `file ${block.name.toLowerCase()}`
  const title = titleOf(block)
  return title === undefined ? undefined : `${block.language} ${title.toLowerCase()}`
}

/**
 * The versions of a block in a conversation, oldest first: blocks with the same file name, or with the same language and title. A
 * repetition is no new version. The block itself is always one of them.
 */
export function versionsOf(blocks: readonly FoundBlock[], shown: FoundBlock): FoundBlock[] {
  const same = blocks.find(({ code, language }) => code === shown.code && language === shown.language)
  const own = same?.name !== undefined && shown.name === undefined ? same : shown
  const key = keyOf(own)
  if (key === undefined) return [own]
  const versions = blocks.filter((block) => keyOf(block) === key)
  const distinct = versions.filter((block, at) => versions[at - 1]?.code !== block.code)
  return distinct.some(({ code }) => code === own.code) ? distinct : [...distinct, own]
}
