import { readFileSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { closePages, openPage, say } from './support/open-page.ts'

afterEach(closePages)

const command = `printf 'city,rain\\nKiel,"8,12"\\n' > rain.csv; printf '# Heading of nine\\n\\n<b>raw</b>' > note.md
  printf '<script>document.title="taken"</script>' > page.html
  printf iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== | base64 -d > dot.png`

describePage('files that tools wrote', () => {
  it('PAGE-8 PAGE-13 are buttons in the turn, with a preview, versions and a download', async () => {
    const { page, fake } = await openPage({
      script: [
        { toolCalls: [{ name: 'exec', input: { command: `${command}; echo on the way > part.txt` } }] },
        { toolCalls: [{ name: 'exec', input: { command: 'rm part.txt' } }] },
        { text: 'Here they are.' },
      ],
      daemon: { env: { FAMILIAR_SANDBOX: 'embedded' } },
    })
    await say(page, 'Make files')
    await page.getByRole('article').getByText('Here they are.').waitFor()

    // A picture is shown at once; a file that was removed again is no result.
    await page.getByAltText('dot.png').waitFor()
    expect(await page.getByRole('button', { name: /^note\.md/ }).count()).toBe(1)
    expect(await page.getByRole('button', { name: /^part\.txt/ }).count()).toBe(0)

    const pane = page.getByRole('complementary', { name: 'Preview' })
    await page.getByRole('button', { name: /^rain\.csv/ }).click()
    await pane.getByRole('columnheader', { name: 'rain' }).waitFor()
    await pane.getByRole('cell', { name: '8,12' }).waitFor()
    const downloading = page.waitForEvent('download')
    await pane.getByRole('button', { name: 'Download' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe('rain.csv')
    expect(readFileSync(await download.path(), 'utf8')).toBe('city,rain\nKiel,"8,12"\n')

    await page.getByRole('button', { name: /^note\.md/ }).click()
    await pane.getByRole('heading', { name: 'Heading of nine' }).waitFor()

    // A picture is shown in the turn, and larger in the preview.
    await page.getByRole('button', { name: 'Enlarge dot.png' }).click()
    await pane.getByRole('img', { name: 'dot.png' }).waitFor()

    await page.getByRole('button', { name: /^page\.html/ }).click()
    await pane.getByRole('button', { name: 'Source' }).click()
    await pane.getByText('document.title').waitFor()
    expect(await page.title()).not.toBe('taken')

    // Written once more, it has two versions.
    await page.getByRole('button', { name: /^rain\.csv/ }).click()
    fake.reply([
      { toolCalls: [{ name: 'exec', input: { command: `printf 'city,rain\\nBonn,3\\n' > rain.csv` } }] },
      { text: 'Changed.' },
    ])
    await say(page, 'Change the table')
    await pane.getByText('v2 of 2').waitFor()
    await pane.getByRole('cell', { name: 'Bonn' }).waitFor()
    await pane.getByRole('button', { name: 'Previous version' }).click()
    await pane.getByRole('cell', { name: 'Kiel' }).waitFor()
    await page.keyboard.press('Escape')
    await pane.waitFor({ state: 'detached' })
  }, 120_000)
})
