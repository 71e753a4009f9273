import type { DocumentKind } from './document-kind.ts'

/** The first line that the reading process is told; the bytes of the document follow it. */
export interface PageTask {
  kind: DocumentKind
  contentType: string
  address: string
  mostCharacters: number
}
