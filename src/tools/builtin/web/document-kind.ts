export type DocumentKind = 'html' | 'pdf' | 'text'

const unsaid = ['', 'application/octet-stream', 'binary/octet-stream', 'application/x-download', 'application/download']
const texts = /^text\/|^application\/(.+\+)?(json|xml|yaml|x-yaml|toml|javascript|x-javascript|x-ndjson|sql|rtf)$/

/** What to read it as; undefined for what is no text. Where the server does not say, its first bytes do. */
export function documentKind(mediaType: string, bytes: Uint8Array): DocumentKind | undefined {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 1_024))
  if (start.startsWith('%PDF-') || mediaType === 'application/pdf') return 'pdf'
  if (mediaType === 'text/html' || mediaType === 'application/xhtml+xml') return 'html'
  if (texts.test(mediaType)) return 'text'
  if (!unsaid.includes(mediaType) || start.includes('\u0000')) return undefined
  return /^\s*<(!doctype html|html)/i.test(start) ? 'html' : 'text'
}
