import { blockUri } from '../../../assets/blocks/block-label.ts'

const root = 'familiar:///'
const id = /^[A-Za-z0-9_-]{1,64}$/
const longestUri = 1_000

export type NamedResource =
  | { kind: 'block'; label: string }
  | { kind: 'memory'; id: string }
  | { kind: 'session'; id: string }

export const templates = {
  block: 'familiar:///blocks/{+label}',
  memory: 'familiar:///memories/{id}',
  session: 'familiar:///sessions/{id}',
} as const

export function memoryUri(memoryId: string): string {
  return `${root}memories/${memoryId}`
}

export function sessionUri(sessionId: string): string {
  return `${root}sessions/${sessionId}`
}

/** Escaped, as a URI is; it is read with and without. */
export function uriOfBlock(label: string): string {
  return encodeURI(blockUri(label))
}

/** What a URI of a client names. Undefined for whatever is not exactly of ours: no file is ever reached from here. */
export function readResourceUri(uri: string): NamedResource | undefined {
  if (uri.length > longestUri || !uri.startsWith(root)) return undefined
  const [folder, ...rest] = uri.slice(root.length).split('/')
  const name = rest.join('/')
  if (folder === 'blocks') return blockOf(name)
  if (!id.test(name)) return undefined
  if (folder === 'memories') return { kind: 'memory', id: name }
  return folder === 'sessions' ? { kind: 'session', id: name } : undefined
}

function blockOf(written: string): NamedResource | undefined {
  try {
    const label = decodeURIComponent(written)
    return label === '' || label.startsWith('/') ? undefined : { kind: 'block', label }
  } catch {
    return undefined
  }
}
