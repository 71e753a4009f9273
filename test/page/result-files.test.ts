import { readFileSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { closePages, openPage, say } from './support/open-page.ts'

afterEach(closePages)

const command = `printf 'city,rain\\nKiel,"8,12"\\n' > rain.csv; printf '# Heading of nine\\n\\n<b>raw</b>' > note.md
  printf '<script>document.title="taken"</script>' > page.html
  printf iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== | base64 -d > dot.png`

describePage('files that tools wrote', () => {
  it('PAGE-8 are buttons in the turn, with a preview and a download', async () => {
    const { page } = await openPage({
      script: [{ toolCalls: [{ name: 'exec', input: { command } }] }, { text: 'Here they are.' }],
      daemon: { env: { FAMILIAR_SANDBOX: 'embedded' } },
    })
    await say(page, 'Make files')
    await page.getByText('Here they are.').waitFor()

    await page.getByRole('button', { name: /^rain\.csv/ }).click()
    await page.getByRole('columnheader', { name: 'rain' }).waitFor()
    await page.getByRole('cell', { name: '8,12' }).waitFor()
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe('rain.csv')
    expect(readFileSync(await download.path(), 'utf8')).toBe('city,rain\nKiel,"8,12"\n')
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: /^note\.md/ }).click()
    await page.getByRole('heading', { name: 'Heading of nine' }).waitFor()
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: /^dot\.png/ }).click()
    await page.getByRole('dialog').getByRole('img', { name: 'dot.png' }).waitFor()
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: /^page\.html/ }).click()
    await page.getByText('document.title').waitFor()
    expect(await page.title()).not.toBe('taken')
  }, 120_000)
})
