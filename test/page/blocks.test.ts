import { expect, it } from 'vitest'
import type { RunningFamiliar } from '../support/running-familiar.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage } from './support/open-page.ts'

async function write(familiar: RunningFamiliar, label: string, content: string): Promise<void> {
  const response = await familiar.request('PUT', `/api/v1/blocks/${encodeURIComponent(label)}`, { content })
  expect(response.status).toBe(200)
}

async function read(familiar: RunningFamiliar, label: string): Promise<string | undefined> {
  const response = await familiar.request('GET', `/api/v1/blocks/${encodeURIComponent(label)}`)
  return ((await response.json()) as { text?: string }).text
}

async function pinned(familiar: RunningFamiliar): Promise<string[]> {
  const response = await familiar.request('GET', '/api/v1/pins')
  return ((await response.json()) as { pins: { label: string }[] }).pins.map(({ label }) => label)
}

describePage('blocks in the page', () => {
  it('PAGE-6 ASSET-2 a block is created, edited, previewed, and an earlier version is restored', async () => {
    const { page, familiar } = await openPage({ path: '/blocks' })
    await page.getByRole('button', { name: 'New note' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('projects/garden')
    await page.getByRole('button', { name: 'Create' }).click()
    const text = page.getByRole('textbox', { name: 'Text' })
    await text.fill('# Garden\n\n- roses\n- <b>herbs</b>\n')
    await page.getByRole('region', { name: 'Preview' }).getByText('<b>herbs</b>').waitFor()
    await page.reload()
    await expect.poll(() => text.inputValue()).toContain('herbs')
    await text.press('Control+s')
    await page.getByText('Saved as version 2').waitFor()
    expect(await read(familiar, 'projects/garden.md')).toContain('roses')

    await page.getByRole('tab', { name: 'Versions' }).click()
    const diff = page.getByRole('region', { name: 'Changes since version 1' })
    await diff.getByText('added: - roses').waitFor()
    expect(await findFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Restore version 1' }).click()
    await page.getByText('Restored version 1 as version 3').waitFor()
    expect(await read(familiar, 'projects/garden.md')).toBe('# garden\n')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Restored version 2 as version 4').waitFor()
    expect(await read(familiar, 'projects/garden.md')).toContain('roses')
  })

  it('PAGE-6 two edits at the same time are both shown, and neither text is lost', async () => {
    const { page, familiar } = await openPage()
    await write(familiar, 'plan.md', 'one\ntwo\n')
    await page.goto(new URL('/blocks/plan.md', page.url()).href)
    const text = page.getByRole('textbox', { name: 'Text' })
    await text.fill('one\ntwo\nmine\n')
    await write(familiar, 'plan.md', 'one\ntheirs\n')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const conflict = page.getByRole('region', { name: 'Edit conflict' })
    await conflict.getByText('removed: theirs').waitFor()
    await conflict.getByText('added: mine').waitFor()
    expect(await read(familiar, 'plan.md')).toBe('one\ntheirs\n')
    expect(await findFaults(page)).toEqual([])
    // Both the typed text and the saved text are still there after a reload.
    await page.reload()
    await conflict.getByText('added: mine').waitFor()
    await conflict.getByRole('button', { name: 'Save mine' }).click()
    await page.getByText('Saved as version 3').waitFor()
    expect(await read(familiar, 'plan.md')).toBe('one\ntwo\nmine\n')
    const theirs = await familiar.request('GET', '/api/v1/blocks/plan.md/versions/2')
    expect(await theirs.json()).toMatchObject({ content: 'one\ntheirs\n' })
  })

  it('PAGE-6 ASSET-4 pins are ordered by drag and by keyboard, and have a budget', async () => {
    const { page, familiar } = await openPage({ path: '/blocks', toml: '[assets]\nblock_budget_tokens = 1000\n' })
    for (const label of ['a.md', 'b.md', 'c.md']) await write(familiar, label, 'tea '.repeat(200))
    await page.reload()
    for (const label of ['a.md', 'b.md', 'c.md']) {
      await page.getByRole('button', { name: `Pin ${label}`, exact: true }).click()
      await page.getByRole('button', { name: `Move ${label} up` }).waitFor()
    }
    await page.getByRole('meter').and(page.locator('[aria-valuetext="600 of 1,000 tokens"]')).waitFor()
    const pins = page.getByRole('list').filter({ has: page.getByRole('button', { name: 'Move a.md up' }) })
    await pins.getByRole('listitem').nth(2).dragTo(pins.getByRole('listitem').nth(0))
    await expect.poll(() => pinned(familiar)).toEqual(['c.md', 'a.md', 'b.md'])
    await page.getByRole('button', { name: 'Move b.md up' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('b.md moved to position 2 of 3').waitFor()
    await expect.poll(() => pinned(familiar)).toEqual(['c.md', 'b.md', 'a.md'])

    expect(await findFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'a.md' }).first().click()
    await page.getByRole('textbox', { name: 'Text' }).fill('tea '.repeat(900))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('Block budget exceeded').waitFor()
    expect(await page.getByRole('textbox', { name: 'Text' }).inputValue()).toBe('tea '.repeat(900))
  })

  it('PAGE-6 ASSET-5 compacting shows both texts before anything changes', async () => {
    const { page, familiar, fake } = await openPage()
    const long = `# Notes\n\n${'The meeting is on Monday at nine. '.repeat(30)}\n`
    await write(familiar, 'notes.md', long)
    fake.respondWith(() => ({ text: '# Notes\n\nMeeting: Monday, nine.' }))
    await page.goto(new URL('/blocks/notes.md', page.url()).href)
    await page.getByRole('button', { name: 'Shorten…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Meeting: Monday, nine.').waitFor()
    await dialog.getByRole('tab', { name: 'Before' }).click()
    await dialog.getByText('The meeting is on Monday').waitFor()
    expect(await findFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Keep as it is' }).click()
    expect(await read(familiar, 'notes.md')).toBe(long)
    await page.getByRole('button', { name: 'Shorten…' }).click()
    await dialog.getByRole('button', { name: 'Use shorter text' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await read(familiar, 'notes.md')).toBe('# Notes\n\nMeeting: Monday, nine.')
    await expect.poll(() => page.getByRole('textbox', { name: 'Text' }).inputValue()).toContain('Monday, nine.')
  })

  it('PAGE-6 a block is renamed with its pin, deleted and restored', async () => {
    const { page, familiar } = await openPage()
    await write(familiar, 'old.md', 'words')
    await familiar.request('POST', '/api/v1/pins', { label: 'old.md' })
    await page.goto(new URL('/blocks/old.md', page.url()).href)
    await page.getByText('pinned at position 1').waitFor()
    await page.getByRole('button', { name: 'Actions for old.md' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('new name')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('heading', { name: 'new name.md' }).waitFor()
    expect(await pinned(familiar)).toEqual(['new name.md'])
    expect(await read(familiar, 'old.md')).toBeUndefined()

    await page.getByRole('button', { name: 'Actions for new name.md' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Notes', exact: true }).waitFor()
    expect(await read(familiar, 'new name.md')).toBeUndefined()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('heading', { name: 'new name.md' }).waitFor()
    expect(await read(familiar, 'new name.md')).toBe('words')
    expect(await pinned(familiar)).toEqual(['new name.md'])
  })
})
