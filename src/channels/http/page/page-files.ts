import { gzipSync } from 'node:zlib'

interface PageFile {
  path: string
  data: Uint8Array
}

/** The built page: every file under its path, `/index.html` among them. */
export interface PageFiles {
  /** Undefined where there is none. */
  read(path: string): PageFile | undefined
}

interface Packed {
  plain: Uint8Array
  /** Absent where packing makes it no smaller. */
  gzip?: Uint8Array
  mediaType: string
}

const mediaTypes: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  wasm: 'application/wasm',
}

/** The same file packed once, however often it is asked for. */
export function createPackedFiles(files: PageFiles): (path: string) => Packed | undefined {
  const packed = new Map<string, Packed | undefined>()
  function pack(path: string): Packed | undefined {
    const file = files.read(path)
    const mediaType = mediaTypes[path.split('.').at(-1) ?? '']
    if (!file || !mediaType) return undefined
    const gzip = gzipSync(file.data, { level: 9 })
    return { plain: file.data, mediaType, ...(gzip.length < file.data.length && { gzip }) }
  }
  return (path) => {
    if (!packed.has(path)) packed.set(path, pack(path))
    return packed.get(path)
  }
}
