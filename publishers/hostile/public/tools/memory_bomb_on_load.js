const hoard = [];
for (let i = 0; ; i++) hoard.push(`${i}`.repeat(100000));
