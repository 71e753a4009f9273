count=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
  (while :; do :; done) &
  count=$((count + 1))
  echo "processes=$count"
done 2>/dev/null
