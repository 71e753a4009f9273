import { gzipSync } from 'node:zlib'
import type { Folders } from '../agent/sessions/folders.ts'
import type { SessionViews } from '../agent/sessions/open-sessions.ts'
import type { SignedInBrowsers } from '../security/sign-in.ts'
import type { Notices } from './notices.ts'

/** The built page: every file under its path, `/index.html` among them. */
export interface PageFiles {
  /** Undefined if it does not exist. */
  read(path: string): Uint8Array | undefined
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

function pack(files: PageFiles, path: string) {
  const plain = files.read(path)
  const mediaType = mediaTypes[path.split('.').at(-1) ?? '']
  if (!plain || !mediaType) return undefined
  const gzip = gzipSync(plain, { level: 9 })
  // No smaller: of no use.
  return { plain, mediaType, gzip: gzip.length < plain.length ? gzip : undefined }
}

/** Compresses each file once. */
export function createPackedFiles(files: PageFiles) {
  const packed = new Map<string, ReturnType<typeof pack>>()
  return (path: string) => {
    if (!packed.has(path)) packed.set(path, pack(files, path))
    return packed.get(path)
  }
}

/** The services of the page in addition to the public API. */
export interface HttpPage {
  browsers: SignedInBrowsers
  /** A one-time URL that signs in a browser. */
  signInLink(userId: string): Promise<{ url: string; minutes: number }>
  views: SessionViews
  folders: Folders
  notices: Notices
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
