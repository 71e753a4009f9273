import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { closeBrowser, openBrowser } from '../test/page/support/chromium.ts'

// Draws the icons of the installed app from web/public/icon.svg: `node scripts/page-icons.ts`. Commit them when the drawing changes.

const folder = join(import.meta.dirname, '../web/public')
const svg = await readFile(join(folder, 'icon.svg'), 'utf8')
const ground = /<rect[^>]* fill="(#\w+)"/.exec(svg)?.[1] ?? '#000000'

/** `room`: the part of the width that the drawing takes; systems cut maskable icons to a circle of 80 percent. */
const icons = [
  { name: 'icon-192.png', size: 192, room: 1 },
  { name: 'icon-512.png', size: 512, room: 1 },
  { name: 'icon-maskable-512.png', size: 512, room: 0.72, ground },
  { name: 'apple-touch-icon.png', size: 180, room: 0.86, ground },
]

const browser = await openBrowser()
for (const { name, size, room, ground: color } of icons) {
  const page = await browser.newPage({ viewport: { width: size, height: size } })
  const inner = Math.round(size * room)
  await page.setContent(
    `<style>html, body { margin: 0; background: ${color ?? 'transparent'} }
     svg { position: absolute; inset: 0; margin: auto; width: ${inner}px; height: ${inner}px }</style>${svg}`,
  )
  await writeFile(join(folder, name), await page.screenshot({ omitBackground: color === undefined }))
  await page.close()
}
await closeBrowser()
