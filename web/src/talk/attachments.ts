import type { Attachment } from '../../../src/protocol/api.ts'

const largest = 20_000_000

/** Files as a message carries them. Too large ones are told by name before anything is read. */
export async function readAttachments(files: Iterable<File>): Promise<Attachment[]> {
  const all = [...files]
  const tooLarge = all.find(({ size }) => size > largest)
  if (tooLarge) throw new Error(`${tooLarge.name} is larger than 20 MB.`)
  return Promise.all(
    all.map(async (file) => ({
      name: file.name.replaceAll(/[/\\\p{Cc}]/gu, '_') || 'file',
      media_type: /^[\w.+-]+\/[\w.+-]+$/.test(file.type) ? file.type : 'application/octet-stream',
      data: await toBase64(file),
    })),
  )
}

function toBase64(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error ?? new Error('The file cannot be read.'))
    reader.readAsDataURL(file)
  })
}
