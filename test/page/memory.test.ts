import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AddedMemoryReply, FactsReply, MemoriesReply, WrittenFactReply } from '../../src/protocol/memory.ts'
import type { RunningFamiliar } from '../support/running-familiar.ts'
import { describePage } from './support/describe-page.ts'
import { openPage } from './support/open-page.ts'

const base = '/api/v1/memories'
const hostile = '<img src=x onerror="alert(1)">'

async function ask<T>(familiar: RunningFamiliar, method: string, path: string, body?: object): Promise<T> {
  const response = await familiar.request(method, `${base}${path}`, body)
  expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true)
  return (await response.json()) as T
}

describePage('memory in the page', () => {
  it('PAGE-6 search explains its results; a memory is edited, forgotten and restored; the address holds the filters', async () => {
    const { page, familiar } = await openPage({ path: '/memory' })
    await page.getByText('No memories yet').waitFor()
    const note = { content: 'The spare key is with Ruth', title: 'Spare key', tags: [hostile] }
    const { memory } = await ask<AddedMemoryReply>(familiar, 'POST', '', note)
    await ask(familiar, 'POST', '', { content: 'Anna plays the flute', tier: 'short_term' })

    await page.getByLabel('Search memory').fill('Where is the spare key?')
    await page.keyboard.press('Enter')
    await page.getByText('1 result').waitFor()
    // The name is shown as text.
    await page.getByText(hostile).waitFor()
    await page.getByRole('button', { name: /^Why/ }).click()
    await page.getByRole('rowheader', { name: 'Words rank 1' }).waitFor()
    await page.getByRole('button', { name: 'Filters' }).click()
    await page.getByLabel('Retention').selectOption('Short-term')
    await page.getByText('No results').waitFor()
    expect(await page.getByText(/\d results/).count()).toBe(0)
    await page.reload()
    await page.getByText('No results').waitFor()
    await page.getByLabel('Retention').selectOption('Any')

    await page.getByRole('link', { name: 'Spare key: The spare key is with Ruth' }).click()
    await page.getByRole('img', { name: /^Strength: 80% now/ }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/memory/${memory.id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Content').fill('The spare key is with Ben')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('main').getByText('The spare key is with Ben').waitFor()
    await page.getByRole('heading', { name: 'History' }).waitFor()

    await page.getByRole('button', { name: 'Forget' }).click()
    await page.getByText('Memory not found').waitFor()
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click()
    await page.getByRole('main').getByText('The spare key is with Ben').first().waitFor()

    await page.goto(`${new URL(page.url()).origin}/memory?tab=changes`)
    await page.getByRole('button', { name: 'Undo: Spare key' }).click()
    await page.getByText('No changes').waitFor()
    expect((await ask<MemoriesReply>(familiar, 'GET', '')).memories.map(({ content }) => content)).toContain(
      note.content,
    )
  })

  it('PAGE-6 learned memories are accepted or rejected, and each can be undone', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=learnt', model: 'offline', toml: '[memory]\n' })
    await page.getByText('Nothing new today').waitFor()
    await familiar.chat('My sister Ruth lives in Porto.')
    const learnt = async () =>
      (await ask<MemoriesReply>(familiar, 'GET', '?source=extracted&passages=false')).memories.map(
        ({ content }) => content,
      )
    await expect.poll(learnt).toContain('Ruth lives in Porto')
    await page.reload()
    await page.getByRole('button', { name: 'Accept: Ruth lives in Porto' }).click()
    await page.getByText('Accepted', { exact: true }).waitFor()
    const facts = page.getByRole('list', { name: 'To review' })
    await facts.getByText('Ruth lives in Porto').waitFor({ state: 'detached' })
    const own = await ask<MemoriesReply>(familiar, 'GET', '?source=user&kind=fact')
    expect(own.memories).toMatchObject([{ content: 'Ruth lives in Porto', label: 'owner' }])

    await page.getByRole('button', { name: 'Reject: You: sister is Ruth' }).click()
    await page.getByText('Nothing new today').waitFor()
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click()
    await facts.getByText('You: sister is Ruth').waitFor()

    await page.getByRole('tab', { name: 'Search' }).click()
    await page.getByLabel('Search memory').fill('Where does Ruth live?')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Deep search and summarize' }).click()
    await page.getByText(/Searches: Where does Ruth live\?/).waitFor()
  })

  it('PAGE-6 facts are sorted, filtered, counted and superseded with their history', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=facts' })
    await page.getByText('No facts yet').waitFor()
    await page.getByRole('button', { name: 'Add a fact' }).click()
    for (const [name, value] of [
      ['Subject', 'Ruth'],
      ['Attribute', 'home'],
      ['Value', 'Porto'],
    ] as const) {
      await page.getByRole('main').getByRole('textbox', { name, exact: true }).fill(value)
    }
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'Porto' }).waitFor()
    await ask(familiar, 'POST', '/facts', { entity: 'Ann', attribute: 'job', value: 'baker' })
    await page.reload()
    await page.getByText('2 facts, 2 subjects, 2 attributes').waitFor()
    await page.getByRole('button', { name: 'Subject', exact: true }).click()
    await expect.poll(() => page.getByRole('row').nth(1).textContent()).toContain('Ann')
    await page
      .getByRole('button', { name: /^Subject/ })
      .first()
      .click()
    await expect.poll(() => page.getByRole('row').nth(1).textContent()).toContain('Ruth')
    await page.getByRole('main').getByRole('searchbox', { name: 'Search' }).fill('ruth')
    await page.getByText('1 fact, 1 subject, 1 attribute').waitFor()

    await page.getByRole('link', { name: 'Porto' }).click()
    await page.getByLabel('New value').fill('Lisbon')
    await page.getByRole('button', { name: 'Replace' }).click()
    await page.getByText(/^Saved\. Previous value: /).waitFor()
    await page.getByRole('link', { name: 'Porto' }).click()
    await page.getByText('Outdated: replaced by a newer value.').waitFor()
    const { facts } = await ask<FactsReply>(familiar, 'GET', '/facts?entity=Ruth&history=true')
    expect(facts.map(({ value, valid_to }) => [value, valid_to !== null])).toEqual([
      ['Lisbon', false],
      ['Porto', true],
    ])
  })

  it('PAGE-6 MEM-11 a superseded fact is restored by one click', async () => {
    const { page, familiar, url } = await openPage()
    const home = { entity: 'Ruth', attribute: 'home', value: 'Porto' }
    const { fact } = await ask<WrittenFactReply>(familiar, 'POST', '/facts', home)
    await page.goto(`${url}/memory/${fact.id}`)
    await page.getByLabel('New value').fill('Lisbon')
    await page.getByRole('button', { name: 'Replace' }).click()
    await page.getByText('Saved. Previous value: Porto').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Change undone').waitFor()
    await page.waitForURL(`**/memory/${fact.id}`)
    expect(await page.getByText('Outdated: replaced').count()).toBe(0)
    const { facts } = await ask<FactsReply>(familiar, 'GET', '/facts?entity=Ruth&history=true')
    expect(facts.map(({ value, valid_to }) => [value, valid_to])).toEqual([['Porto', null]])
  })

  it('PAGE-6 commitments show what is overdue, and are closed and opened again', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=commitments' })
    await page.getByText('No commitments').waitFor()
    await ask(familiar, 'POST', '/commitments', { what: 'water the plants', deadline: '2020-01-02' })
    await page.getByLabel('New commitment').fill('send Ruth the photos')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('heading', { name: 'Overdue (1)' }).waitFor()
    await page.getByRole('heading', { name: 'No deadline (1)' }).waitFor()
    await page.getByRole('button', { name: 'Done: water the plants' }).click()
    await page.getByRole('heading', { name: 'Overdue (1)' }).waitFor({ state: 'detached' })
    await page.getByLabel('Show done and canceled').check()
    await page.getByRole('heading', { name: 'Closed (1)' }).waitFor()
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click()
    await page.getByRole('heading', { name: 'Overdue (1)' }).waitFor()
  })

  it('PAGE-6 PAGE-4 the graph works with the keyboard, and the timeline loads more while scrolling', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=graph' })
    await page.getByText('No links yet').waitFor()
    const ids: string[] = []
    for (let number = 0; number < 60; number += 1) {
      const { memory } = await ask<AddedMemoryReply>(familiar, 'POST', '', { content: `Page ${number} of the diary` })
      ids.push(memory.id)
    }
    const [source_id, target_id] = ids
    await ask(familiar, 'POST', '/edges', { source_id, target_id, relation: 'before' })
    await page.reload()
    const picture = page.getByRole('application', { name: /^Graph of 2 memories/ })
    await picture.focus()
    for (const key of ['ArrowLeft', 'ArrowDown', '+', '-', '0']) await page.keyboard.press(key)
    const nodes = page.getByRole('list', { name: 'Nodes' })
    await nodes.getByRole('button', { name: 'Page 0 of the diary' }).press('Enter')
    await page.getByText('Linked to 1:').waitFor()
    expect(new URL(page.url()).searchParams.get('node')).toBe(ids[0])
    await nodes.getByRole('button', { name: 'Page 1 of the diary' }).press('Enter')
    await page.getByRole('link', { name: 'Open', exact: true }).press('Enter')
    await page.getByRole('heading', { name: 'Linked memories' }).waitFor()
    await page.getByRole('link', { name: 'Page 0 of the diary' }).waitFor()

    await page.getByRole('link', { name: 'All memories' }).click()
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.getByText('Page 59 of the diary').waitFor()
    const oldest = page.getByText('Page 0 of the diary')
    await page.getByRole('main').press('End')
    await oldest.waitFor()
  })

  it('PAGE-6 memories are exported to a file, and an import reports what it added', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=store' })
    await ask(familiar, 'POST', '', { content: 'The house has a blue door' })
    const waiting = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export JSON Lines' }).click()
    const download = await waiting
    expect(download.suggestedFilename()).toBe('familiar-memories.jsonl')
    const [choosing] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Import', exact: true }).click(),
    ])
    const buffer = Buffer.from('- Oslo has a fjord\n- Porto has a bridge\n')
    await choosing.setFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer })
    await page.getByText('Added 2 memories').waitFor()
    const { memories } = await ask<MemoriesReply>(familiar, 'GET', '?source=import')
    expect(memories.map(({ label }) => label)).toEqual(['untrusted', 'untrusted'])
  })

  it('PAGE-6 an indexed folder is removed after a question, and everything about a word after it is typed again', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=store' })
    const folder = join(familiar.home, `notes & ${hostile.replaceAll('/', '')}`)
    mkdirSync(folder)
    await ask(familiar, 'POST', '/roots', { path: folder })
    await ask(familiar, 'POST', '', { content: 'Zanzibar has a red door' })
    await page.reload()
    await page.getByRole('button', { name: `Remove ${folder}` }).click()
    await page.getByRole('dialog').getByText(folder).waitFor()
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('Removed from the index. The files are not deleted.').waitFor()
    await page.getByRole('button', { name: `Remove ${folder}` }).waitFor({ state: 'detached' })
    await page.getByText('familiar memory index PATH').waitFor()

    await page.getByLabel('Name or word').fill('Zanzibar')
    await page.getByRole('button', { name: 'Delete everything about it' }).click()
    const forGood = page.getByRole('button', { name: 'Delete everything about Zanzibar' })
    expect(await forGood.isDisabled()).toBe(true)
    await page.getByLabel('To confirm, type Zanzibar').fill('Zanzibar')
    await forGood.click()
    await page.getByText('Deleted permanently: 1 memory').waitFor()
    expect((await ask<MemoriesReply>(familiar, 'GET', '')).memories).toEqual([])
  })
})
