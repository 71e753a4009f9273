import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** One fenced block of a page. */
export interface Block {
  page: string
  line: number
  language: string
  text: string
  /** Why it is not run, from `<!-- not run: REASON -->` above it. */
  skipped: string | null
  /** `<!-- background -->` above it: its last line keeps running until the page is done. */
  isBackground: boolean
}

/** The pages whose blocks people paste. */
export function readPages(): Map<string, string> {
  const paths = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/*.md', { cwd: root })].sort()
  return new Map(paths.map((path) => [path.replaceAll('\\', '/'), readFileSync(join(root, path), 'utf8')]))
}

export function blocksOf(page: string, text: string): Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index += 1) {
    const fence = /^( *)(`{3,})(\S*)\s*$/.exec(lines[index] ?? '')
    if (!fence) continue
    const [, indent = '', ticks = '', language = ''] = fence
    const end = lines.findIndex((line, place) => place > index && line.trimEnd() === `${indent}${ticks}`)
    if (end < 0) throw new Error(`${page}:${index + 1}: the block has no end`)
    const mark = lines
      .slice(0, index)
      .reverse()
      .find((line) => line.trim() !== '')
    blocks.push({
      page,
      line: index + 1,
      language,
      text: `${lines
        .slice(index + 1, end)
        .map((line) => line.slice(indent.length))
        .join('\n')}\n`,
      skipped: /^<!-- not run: (.+) -->$/.exec(mark?.trim() ?? '')?.[1] ?? null,
      isBackground: mark?.trim() === '<!-- background -->',
    })
    index = end
  }
  return blocks
}

/** The anchors that GitHub makes for the headings of a page. */
export function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>()
  const headings = withoutBlocks(text).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)
  return new Set(
    [...headings].map(([, heading = '']) => {
      const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '')
      const anchor = words
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-')
      const count = seen.get(anchor) ?? 0
      seen.set(anchor, count + 1)
      return count === 0 ? anchor : `${anchor}-${count}`
    }),
  )
}

/** The targets of the links and pictures of a page. */
export function linksOf(text: string): string[] {
  return [
    ...withoutBlocks(text).matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)|<(?:img|a)\b[^>]*\b(?:src|href)="([^"]+)"/g),
  ].map(([, link, source]) => link ?? source ?? '')
}

function withoutBlocks(text: string): string {
  return text
    .replace(/^( *)(`{3,})[^\n]*\n[\s\S]*?\n\1\2\s*$/gm, '')
    .replace(/`[^`\n]+`/g, (code) => code.replace(/[[\]()<>]/g, ''))
}
