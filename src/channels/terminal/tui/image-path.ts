import { fileURLToPath } from 'node:url'

const images = /\.(?:png|jpe?g|gif|webp)$/i

/**
 * The path of an image where that is all of what was pasted: plain, quoted, with escaped spaces, or as an address, as
 * terminals write a file that is dropped on them.
 */
export function imagePathIn(text: string): string | undefined {
  const line = text.trim()
  if (line === '' || line.length > 4_096 || line.includes('\n')) return undefined
  const path = withoutQuotes(line)
  return path !== undefined && images.test(path) && /^(?:\/|~\/|\.{1,2}\/|[A-Za-z]:\\)/.test(path) ? path : undefined
}

function withoutQuotes(line: string): string | undefined {
  const quoted = /^(['"])(.*)\1$/.exec(line)?.[2]
  if (quoted !== undefined) return quoted
  if (line.startsWith('file://')) return fromAddress(line)
  // Several words without an escape are words.
  if (/(?<!\\)\s/.test(line)) return undefined
  return line.replace(/\\(?=[\s'"()[\]&;\\])/g, '')
}

function fromAddress(address: string): string | undefined {
  try {
    return fileURLToPath(address)
  } catch {
    return undefined
  }
}
