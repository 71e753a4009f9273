import { en } from '../../web/src/strings/en.ts'
import { setStrings } from '../../web/src/strings/strings.ts'

// In a browser the entry of the page does this. Modules of the page hold strings, so it comes before every test file.
setStrings(en)
