import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describeStorage } from './storage-contract.ts'
import { openIn, temporaryDirectory } from './storage-support.ts'

describeStorage('SQLite', async () => {
  const directory = temporaryDirectory()
  let database = await openIn(directory.path)
  return {
    database,
    directory: directory.path,
    async reopen() {
      await database.close()
      database = await openIn(directory.path)
      return database
    },
    openBackup(path) {
      const home = join(directory.path, 'opened-backup')
      mkdirSync(home)
      copyFileSync(path, join(home, 'familiar.db'))
      return openIn(home)
    },
    async dispose() {
      await database.close()
      directory[Symbol.dispose]()
    },
  }
})
