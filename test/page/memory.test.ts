import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { FactsReply, WrittenFactReply } from '../../src/protocol/fact-api.ts'
import type { AddedMemoryReply, MemoriesReply } from '../../src/protocol/memory-api.ts'
import type { RunningFamiliar } from '../support/running-familiar.ts'
import { describePage, more } from './support/describe-page.ts'
import { openPage } from './support/open-page.ts'

const base = '/api/v1/memories'
const hostile = '<img src=x onerror="alert(1)">'

async function ask<T>(familiar: RunningFamiliar, method: string, path: string, body?: object): Promise<T> {
  const response = await familiar.request(method, `${base}${path}`, body)
  expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true)
  return (await response.json()) as T
}

describePage('memory in the page', () => {
  it('PAGE-6 search says why, a memory is edited, forgotten and brought back, and the address holds what is looked at', async () => {
    const { page, familiar } = await openPage({ path: '/memory' })
    await page.getByText('Nothing is remembered yet').waitFor()
    const note = { content: 'The spare key is with Ruth', title: 'Spare key', tags: [hostile] }
    const { memory } = await ask<AddedMemoryReply>(familiar, 'POST', '', note)
    await ask(familiar, 'POST', '', { content: 'Anna plays the flute', tier: 'short_term' })

    await page.getByLabel('Ask memory').fill('Where is the spare key?')
    await page.keyboard.press('Enter')
    await page.getByText('1 memory speaks to it.').waitFor()
    // What somebody called it is text.
    await page.getByText(hostile).waitFor()
    await page.getByRole('button', { name: /^Why/ }).click()
    await page.getByRole('rowheader', { name: 'Words no. 1' }).waitFor()
    await page.getByRole('button', { name: 'Filters' }).click()
    await page.getByLabel('Lasts').selectOption('For now')
    await page.getByText('Nothing known speaks to that').waitFor()
    await page.reload()
    await page.getByText('Nothing known speaks to that').waitFor()
    await page.getByLabel('Lasts').selectOption('Any')

    await page.getByRole('link', { name: 'Spare key: The spare key is with Ruth' }).click()
    await page.getByRole('img', { name: /^Strength: 80% now/ }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/memory/${memory.id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Content').fill('The spare key is with Ben')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('main').getByText('The spare key is with Ben').waitFor()
    await page.getByRole('heading', { name: 'Changes' }).waitFor()

    await page.getByRole('button', { name: 'Forget' }).click()
    await page.getByText('There is no such memory').waitFor()
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click()
    await page.getByRole('main').getByText('The spare key is with Ben').first().waitFor()

    await page.goto(`${new URL(page.url()).origin}/memory?tab=changes`)
    await page.getByRole('button', { name: 'Undo: Spare key' }).click()
    await page.getByText('Nothing was changed').waitFor()
    expect((await ask<MemoriesReply>(familiar, 'GET', '')).memories.map(({ content }) => content)).toContain(
      note.content,
    )
  })

  more('PAGE-6 what was learnt is accepted or rejected, and each can be undone', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=learnt', model: 'offline', toml: '[memory]\n' })
    await page.getByText('Nothing new was learnt today').waitFor()
    await familiar.chat('My sister Ruth lives in Porto.')
    const learnt = async () =>
      (await ask<MemoriesReply>(familiar, 'GET', '?source=extracted&passages=false')).memories.map(
        ({ content }) => content,
      )
    await expect.poll(learnt).toContain('Ruth: lives in is Porto')
    await page.reload()
    await page.getByRole('button', { name: 'Accept: Ruth: lives in is Porto' }).click()
    await page.getByText('Kept, as if you had said it.').waitFor()
    const facts = page.getByRole('list', { name: 'Learnt' })
    await facts.getByText('Ruth: lives in is Porto').waitFor({ state: 'detached' })
    const own = await ask<MemoriesReply>(familiar, 'GET', '?source=user&kind=fact')
    expect(own.memories).toMatchObject([{ content: 'Ruth: lives in is Porto', label: 'owner' }])

    await page.getByRole('button', { name: 'Reject: You: sister is Ruth' }).click()
    await page.getByText('Nothing new was learnt today').waitFor()
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click()
    await facts.getByText('You: sister is Ruth').waitFor()

    await page.getByRole('tab', { name: 'Search' }).click()
    await page.getByLabel('Ask memory').fill('Where does Ruth live?')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Look deeper, and sum it up' }).click()
    await page.getByText(/asked as: Where does Ruth live\?/).waitFor()
  })

  more('PAGE-6 facts are sorted, filtered, counted and superseded with their history', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=facts' })
    await page.getByText('No facts yet').waitFor()
    await page.getByRole('button', { name: 'State a fact' }).click()
    for (const [name, value] of [
      ['Of whom or what', 'Ruth'],
      ['What', 'home'],
      ['Is', 'Porto'],
    ] as const) {
      await page.getByRole('main').getByRole('textbox', { name, exact: true }).fill(value)
    }
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'Porto' }).waitFor()
    await ask(familiar, 'POST', '/facts', { entity: 'Ann', attribute: 'job', value: 'baker' })
    await page.reload()
    await page.getByText('2 facts, 2 entities, 2 attributes').waitFor()
    await page.getByRole('button', { name: 'Of', exact: true }).click()
    await expect.poll(() => page.getByRole('row').nth(1).textContent()).toContain('Ann')
    await page.getByRole('button', { name: /^Of/ }).first().click()
    await expect.poll(() => page.getByRole('row').nth(1).textContent()).toContain('Ruth')
    await page.getByRole('searchbox', { name: 'Words' }).fill('ruth')
    await page.getByText('1 fact, 1 entity, 1 attribute').waitFor()

    await page.getByRole('link', { name: 'Porto' }).click()
    await page.getByLabel('It is now').fill('Lisbon')
    await page.getByRole('button', { name: 'Supersede' }).click()
    await page.getByText(/^Noted\. Before, it was /).waitFor()
    await page.getByRole('link', { name: 'Porto' }).click()
    await page.getByText('This is history: something newer took its place.').waitFor()
    const { facts } = await ask<FactsReply>(familiar, 'GET', '/facts?entity=Ruth&history=true')
    expect(facts.map(({ value, valid_to }) => [value, valid_to !== null])).toEqual([
      ['Lisbon', false],
      ['Porto', true],
    ])
  })

  more('PAGE-6 MEM-11 what was superseded is true again by one press', async () => {
    const { page, familiar, url } = await openPage()
    const home = { entity: 'Ruth', attribute: 'home', value: 'Porto' }
    const { fact } = await ask<WrittenFactReply>(familiar, 'POST', '/facts', home)
    await page.goto(`${url}/memory/${fact.id}`)
    await page.getByLabel('It is now').fill('Lisbon')
    await page.getByRole('button', { name: 'Supersede' }).click()
    await page.getByText('Noted. Before, it was Porto.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('As it was before.').waitFor()
    await page.waitForURL(`**/memory/${fact.id}`)
    expect(await page.getByText('This is history').count()).toBe(0)
    const { facts } = await ask<FactsReply>(familiar, 'GET', '/facts?entity=Ruth&history=true')
    expect(facts.map(({ value, valid_to }) => [value, valid_to])).toEqual([['Porto', null]])
  })

  more('PAGE-6 commitments show what is overdue, and are closed and opened again', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=commitments' })
    await page.getByText('Nothing is owed').waitFor()
    await ask(familiar, 'POST', '/commitments', { what: 'water the plants', deadline: '2020-01-02' })
    await page.getByLabel('I have promised to …').fill('send Ruth the photos')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('heading', { name: 'Overdue (1)' }).waitFor()
    await page.getByRole('heading', { name: 'No deadline (1)' }).waitFor()
    await page.getByRole('button', { name: 'Done: water the plants' }).click()
    await page.getByRole('heading', { name: 'Overdue (1)' }).waitFor({ state: 'detached' })
    await page.getByLabel('Also what is done or cancelled').check()
    await page.getByRole('heading', { name: 'Closed (1)' }).waitFor()
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click()
    await page.getByRole('heading', { name: 'Overdue (1)' }).waitFor()
  })

  more('PAGE-6 PAGE-4 the graph is read and walked by keyboard, and the timeline goes on as it is read', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=graph' })
    await page.getByText('Nothing is joined yet').waitFor()
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
    await page.getByText('Joined to 1:').waitFor()
    expect(new URL(page.url()).searchParams.get('node')).toBe(ids[0])
    await nodes.getByRole('button', { name: 'Page 1 of the diary' }).press('Enter')
    await page.getByRole('link', { name: 'Open', exact: true }).press('Enter')
    await page.getByRole('heading', { name: 'Neighbours' }).waitFor()
    await page.getByRole('link', { name: 'Page 0 of the diary' }).waitFor()

    await page.getByRole('link', { name: 'All memories' }).click()
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.getByText('Page 59 of the diary').waitFor()
    const oldest = page.getByText('Page 0 of the diary')
    await page.getByRole('main').press('End')
    await oldest.waitFor()
  })

  more('PAGE-6 everything is exported as a file, and a file is imported with what it added', async () => {
    const { page, familiar } = await openPage({ path: '/memory?tab=store' })
    await ask(familiar, 'POST', '', { content: 'The house has a blue door' })
    const waiting = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Everything, as JSON lines' }).click()
    const download = await waiting
    expect(download.suggestedFilename()).toBe('familiar-memories.jsonl')
    const [choosing] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Import a file' }).click(),
    ])
    const buffer = Buffer.from('- Oslo has a fjord\n- Porto has a bridge\n')
    await choosing.setFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer })
    await page.getByText('Added 2 memories').waitFor()
    const { memories } = await ask<MemoriesReply>(familiar, 'GET', '?source=import')
    expect(memories.map(({ label }) => label)).toEqual(['untrusted', 'untrusted'])
  })

  more(
    'PAGE-6 an indexed folder is forgotten after a question, and everything about a word once it was typed twice',
    async () => {
      const { page, familiar } = await openPage({ path: '/memory?tab=store' })
      const folder = join(familiar.home, `notes & ${hostile.replaceAll('/', '')}`)
      mkdirSync(folder)
      await ask(familiar, 'POST', '/roots', { path: folder })
      await ask(familiar, 'POST', '', { content: 'Zanzibar has a red door' })
      await page.reload()
      await page.getByRole('button', { name: `Forget ${folder}` }).click()
      await page.getByRole('dialog').getByText(folder).waitFor()
      await page.getByRole('button', { name: 'Forget it' }).click()
      await page.getByText('No longer indexed. The files themselves stay.').waitFor()
      await page.getByRole('button', { name: `Forget ${folder}` }).waitFor({ state: 'detached' })
      await page.getByText('familiar memory index PATH').waitFor()

      await page.getByLabel('About').fill('Zanzibar')
      await page.getByRole('button', { name: 'Forget everything about it' }).click()
      const forGood = page.getByRole('button', { name: 'Forget everything about Zanzibar' })
      expect(await forGood.isDisabled()).toBe(true)
      await page.getByLabel('To go on, type Zanzibar').fill('Zanzibar')
      await forGood.click()
      await page.getByText('Forgotten for good. Memories: 1.').waitFor()
      expect((await ask<MemoriesReply>(familiar, 'GET', '')).memories).toEqual([])
    },
  )
})
