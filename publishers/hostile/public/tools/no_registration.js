const registered = false;
