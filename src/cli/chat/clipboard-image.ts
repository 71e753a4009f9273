import { execFile } from 'node:child_process'

/** Programs that write the image of the clipboard to their output, as each system has them. */
const programs: readonly [file: string, ...args: string[]][] = [
  ['wl-paste', '--no-newline', '--type', 'image/png'],
  ['xclip', '-selection', 'clipboard', '-target', 'image/png', '-out'],
  ['pngpaste', '-'],
]
const timeoutMs = 3_000
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Undefined where no program is there, or none of them finds an image. */
export async function readClipboardImage(options: {
  env: Readonly<Record<string, string | undefined>>
  maxBytes: number
}): Promise<Buffer | undefined> {
  for (const [file, ...args] of programs) {
    const image = await run(file, args, options)
    if (image) return image
  }
  return undefined
}

function run(
  file: string,
  args: string[],
  { env, maxBytes }: { env: Readonly<Record<string, string | undefined>>; maxBytes: number },
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const options = { env, timeout: timeoutMs, maxBuffer: maxBytes, encoding: 'buffer' } as const
    execFile(file, args, options, (error, stdout) => {
      const isImage = !error && stdout.subarray(0, signature.length).equals(signature)
      resolve(isImage ? stdout : undefined)
    })
  })
}
