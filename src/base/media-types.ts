import { isUtf8 } from 'node:buffer'
import { extname } from 'node:path'

const office = 'application/vnd.openxmlformats-officedocument'

const mediaTypes: Record<string, string> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
  '.pdf': 'application/pdf',
  '.docx': `${office}.wordprocessingml.document`,
  '.xlsx': `${office}.spreadsheetml.sheet`,
  '.pptx': `${office}.presentationml.presentation`,
  '.odt': 'application/vnd.oasis.opendocument.text',
  '.ods': 'application/vnd.oasis.opendocument.spreadsheet',
  '.odp': 'application/vnd.oasis.opendocument.presentation',
  '.json': 'application/json',
  '.csv': 'text/csv',
  '.md': 'text/markdown',
  '.html': 'text/html',
  '.mp3': 'audio/mpeg',
  '.ogg': 'audio/ogg',
  '.wav': 'audio/wav',
  '.mp4': 'video/mp4',
  '.zip': 'application/zip',
}

/** By the ending of its name; without a known one, whether it is text. */
export function mediaTypeOf(name: string, data: Uint8Array): string {
  const known = mediaTypes[extname(name).toLowerCase()]
  if (known) return known
  return isUtf8(data) && !data.includes(0) ? 'text/plain' : 'application/octet-stream'
}
