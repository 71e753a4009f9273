import { gzipSync } from 'node:zlib'
import type { SessionViews } from '../agent/sessions/open-sessions.ts'
import type { SignedInBrowsers } from '../security/sign-in.ts'

interface PageFile {
  path: string
  data: Uint8Array
}

/** The built page: every file under its path, `/index.html` among them. */
export interface PageFiles {
  /** Undefined if it does not exist. */
  read(path: string): PageFile | undefined
}

interface Packed {
  plain: Uint8Array
  /** Absent if compression makes it no smaller. */
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
  woff2: 'font/woff2',
}

/** Compresses each file once. */
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

/** The services of the page in addition to the public API. */
export interface HttpPage {
  browsers: SignedInBrowsers
  /** A one-time URL that signs in a browser. */
  signInLink(userId: string): Promise<{ url: string; minutes: number }>
  views: SessionViews
  /** The sessions with a running turn. */
  runningSessions(): ReadonlySet<string>
  agentName(): string
  /** A command as it works in a terminal of this machine. */
  commandLine(words: string): string
  userName(userId: string): string
  /** The id of the user with this name; `not_found` if there is none. */
  userNamed(name: string): string
  /** Absent if the page was not built. */
  files?: PageFiles
}

/** The cookie of a signed-in browser. Scripts cannot read it. */
export const pageCookie = 'familiar_page'
