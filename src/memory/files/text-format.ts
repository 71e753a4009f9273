import { extname } from 'node:path'

/** How headings are written in a text. */
export type TextFormat = 'markdown' | 'restructured' | 'org' | 'asciidoc'

const formats: Record<string, TextFormat> = {
  '.rst': 'restructured',
  '.org': 'org',
  '.adoc': 'asciidoc',
  '.asciidoc': 'asciidoc',
}

const textExtensions = new Set([
  ...Object.keys(formats),
  ...[
    '.md',
    '.mdx',
    '.markdown',
    '.mdown',
    '.txt',
    '.text',
    '.tex',
    '.textile',
    '.wiki',
    '.csv',
    '.tsv',
    '.srt',
    '.vtt',
  ],
])

/** What a folder is searched for. A file that is named itself is read whatever its name. */
export function hasTextExtension(path: string): boolean {
  return textExtensions.has(extname(path).toLowerCase())
}

/** Markdown where the name says nothing: plain text is written much like it. */
export function formatOf(path: string): TextFormat {
  return formats[extname(path).toLowerCase()] ?? 'markdown'
}
