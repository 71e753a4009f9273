import { FamiliarError } from '../../../protocol/error.ts'
import type { ListedFile } from './client-list.ts'

const dataUrl = /^data:([A-Za-z0-9.+_-]+\/[A-Za-z0-9.+_-]+)?(?:;[A-Za-z0-9=._-]+)*;base64,/

const typesByEnding: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  wav: 'audio/wav',
  webp: 'image/webp',
}

/** What a client writes for a file: `data:…;base64,…` or an address. `where` is its key, for the refusal. */
export function listedFile(url: string, { name, where }: { name: string; where: string }): ListedFile {
  const head = dataUrl.exec(url.slice(0, 300))
  if (head) return dataFile(url.slice(head[0].length), { name, mediaType: head[1] })
  if (/^https?:\/\//i.test(url)) return { kind: 'address', name: plainName(name), url }
  throw new FamiliarError('bad_request', `${where}: must be a data: URL in base64, or an address of http or https`)
}

/** A file whose content stands there, as base64 or as a whole data: URL. */
export function encodedFile(data: string, name: string): ListedFile {
  const head = dataUrl.exec(data.slice(0, 300))
  return dataFile(head ? data.slice(head[0].length) : data, { name, mediaType: head?.[1] })
}

export function refuseFileId(where: string): never {
  throw new FamiliarError('bad_request', `${where}: no files are kept here; send the file itself`)
}

function dataFile(data: string, { name, mediaType }: { name: string; mediaType: string | undefined }): ListedFile {
  return { kind: 'data', name: plainName(name), mediaType: mediaType ?? typeOf(name), data: data.replaceAll(/\s/g, '') }
}

function typeOf(name: string): string {
  return typesByEnding[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream'
}

/** A name that is no path and drives no terminal. */
function plainName(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Cf}/\\]/gu, '_').trim() || 'file'
}
