import { constants, deflateRawSync } from 'node:zlib'

/** A PDF of one page for each text, as small as one can be. */
export function makePdf(texts: readonly string[]): Uint8Array {
  return assemble(
    texts.map((text) => {
      const lines = text.split('\n').map((line) => `(${line.replaceAll(/[()\\]/g, '\\$&')}) Tj T*`)
      return { dictionary: '', bytes: Buffer.from(`BT /F1 12 Tf 14 TL 72 720 Td ${lines.join(' ')} ET`) }
    }),
  )
}

/** A PDF of a few hundred kilobytes whose page grows to `gigabytes` when it is unpacked. */
export function makePdfBomb(gigabytes: number): Uint8Array {
  const chunkBytes = 16 * 1024 * 1024
  // A block that ends on a byte and refers to nothing before it can stand any number of times.
  const block = deflateRawSync(Buffer.alloc(chunkBytes, ' '), { finishFlush: constants.Z_FULL_FLUSH })
  const blocks = Array.from({ length: Math.ceil((gigabytes * 2 ** 30) / chunkBytes) }, () => block)
  const bytes = Buffer.concat([Buffer.from([0x78, 0x9c]), ...blocks, deflateRawSync(Buffer.from('BT ET'))])
  return assemble([{ dictionary: '/Filter /FlateDecode', bytes }])
}

function assemble(contents: readonly { dictionary: string; bytes: Buffer }[]): Uint8Array {
  const kids = contents.map((_content, index) => `${4 + index * 2} 0 R`).join(' ')
  const objects: Buffer[] = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${contents.length} >>`),
    Buffer.from('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'),
  ]
  for (const [index, { dictionary, bytes }] of contents.entries()) {
    const page = `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + index * 2} 0 R`
    objects.push(Buffer.from(`${page} /Resources << /Font << /F1 3 0 R >> >> >>`))
    const head = Buffer.from(`<< ${dictionary} /Length ${bytes.length} >>\nstream\n`)
    objects.push(Buffer.concat([head, bytes, Buffer.from('\nendstream')]))
  }
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')]
  const offsets: number[] = []
  let size = parts[0]?.length ?? 0
  for (const [index, object] of objects.entries()) {
    offsets.push(size)
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')])
    parts.push(part)
    size += part.length
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const count = objects.length + 1
  const table = `xref\n0 ${count}\n0000000000 65535 f \n${rows}`
  parts.push(Buffer.from(`${table}trailer << /Size ${count} /Root 1 0 R >>\nstartxref\n${size}\n%%EOF\n`))
  return new Uint8Array(Buffer.concat(parts))
}
